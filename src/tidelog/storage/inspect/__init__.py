"""Looking at the files of a log without owning them: what `dump` and `verify` have in common.

Everything here opens files to read and nothing else. It reads the formats by itself, entry by entry, instead of asking
the classes that write them: a check that shares its reader with the writer agrees with the writer's mistakes.
"""
