"""The commit log on disk, in Kafka's own files, over the FileSystem port.

From the bottom up: `names` and `errors`; `segment` (a `.log` and its indexes), in which `descriptors` bounds the number
of open files, `index_file` carries the three indexes, `search` walks along the batches and `scan` checks them for
recovery, with `kernels_scan` compiled. `log` is made of segments, of the state in `producers` and of `leader_epochs`;
`append` checks what is written to it. `directories` holds all logs of a broker; `checkpoints` are the small files,
`cleaner` compacts, and `inspect` looks at the files offline.

What is synced survives anything; what is not is cut cleanly. The rule that all of it rests on: the bytes of a `.log`
are the truth, and every index can be rebuilt from them. So the indexes of the segment that is being appended to are
never synced, and those of a sealed one are synced together with its log, before the recovery point passes it.
"""
