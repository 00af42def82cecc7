"""One segment: its files, its three indexes, scanning and searching them, and the cache of open descriptors."""
