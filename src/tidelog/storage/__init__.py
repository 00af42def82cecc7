"""The commit log on disk, in Kafka's own files, over the FileSystem port.

From the bottom up: `names` and `errors`; `descriptors` (a bounded number of open files); `index_file` with
`offset_index`, `time_index` and `transaction_index` on it; `segment` (a `.log` and its indexes), which is put together
from `segment_files`, `segment_log`, `segment_indexes`, `segment_search` (walks) and `segment_scan` (recovery), with
`kernels_scan` compiled. A log is made of segments, of `producer_state` and of `leader_epochs`.

What is synced survives anything; what is not is cut cleanly. The rule that all of it rests on: the bytes of a `.log`
are the truth, and every index can be rebuilt from them. So the indexes of the segment that is being appended to are
never synced, and those of a sealed one are synced together with its log, before the recovery point passes it.
"""
