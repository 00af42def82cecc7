"""The quorum that agrees on the cluster's metadata: who leads it, in which epoch, and how far its log is committed.

`quorum` is the machine: `step(now_ms, event) -> effects`, and a `deadline` that is read, not scheduled. A role is a
file: `unattached`, `candidate` (with the prospective before it), `leader`, `resigned`. `quorum_state` is what must
survive a restart, `voters` and `voter_history` are whom to count. The log itself is not here: events say what happened
to it, effects what is to happen.
"""
