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

Around it, in the broker's own process:

    scheduler     the cleaner as the loop sees it: which log is cleaned when, and what becomes of it
    survey        a look at all compacted logs, a slice a turn
    log_facts     a live log, copied into plain values
    task          one cleaning under way: a worker, and the swaps of what it hands over (`storage.log.swap`)
    cleaner_offsets   how far each log is cleaned, on disk
    metrics       Kafka's numbers, and the partitions that were set aside

`transactions` knows which data were aborted and when a marker may go, `throttle` how long to rest for the I/O limit.
"""
