"""Classic groups: members agree through JoinGroup and SyncGroup, and one of them, the leader, assigns."""
