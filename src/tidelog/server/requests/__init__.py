"""From the bytes of a connection to a handler and back: connections, dispatch, the turn, purgatory, limits, slices."""
