"""The coordinators that this broker runs, one for each partition of `__consumer_offsets` and `__transaction_state` that
it leads: loading them, their part in a turn, how handlers ask them, and the quick path of OffsetCommit.
"""
