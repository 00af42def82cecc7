"""How far a node is in its life; see `node` for what happens in each phase."""

from enum import Enum


class Phase(Enum):
    ELECTING = "electing"
    LOADING = "loading"
    JOINING = "joining"
    RUNNING = "running"
    STOPPING = "stopping"
    STOPPED = "stopped"
