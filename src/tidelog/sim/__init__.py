"""The ports under a seed: a clock that is set by hand, a disk that loses what was not synced, a network that fails.

One seed reproduces one history. Nothing here asks the machine for the time or for chance, iterates a set, or depends
on a hash or an address; every random stream is derived from the seed and a name, so that adding a draw in one place
does not shift the draws of another.
"""
