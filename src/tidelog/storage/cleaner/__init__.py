"""Compaction: of each key, only the last record stays.

One log is cleaned like this, by a worker process that sees nothing but closed segments and a `CleaningJob`:

    selection     which log is the filthiest, and from where to where it may be cleaned
    mapping       read the dirty part once: the last offset of each key, in a table of fixed memory (`offset_map`)
    grouping      neighbours that are small enough together become one segment
    cleaning      read every segment again, write what `retain` keeps of each batch to `<base>.log.cleaned`
    swap          back in the log's own process: `.cleaned` becomes `.swap`, and that takes the old segments' place

What a reader relies on: the last value of each key stays, offsets and order never change, a tombstone (and the marker
of a transaction without data) stays readable for `delete.retention.ms` after everything that it deleted was gone, and
the place where the log ends is never lost.

`transactions` knows which data were aborted and when a marker may go, `throttle` how long to rest for the I/O limit.
"""
