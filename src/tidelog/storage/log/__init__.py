"""One partition's log: group commit, reading, recovery, retention, truncation, flushing, leader epochs."""
