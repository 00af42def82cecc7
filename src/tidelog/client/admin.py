"""What an operator asks of a cluster. One class for the caller; a file for each subject behind it.

Where several things are asked for at once, each has an outcome of its own: its value, or the ClientError that says why
not. What asks for one thing raises.
"""

from tidelog.client.admin_cluster import ClusterAdmin
from tidelog.client.admin_configs import ConfigAdmin
from tidelog.client.admin_offsets import OffsetAdmin
from tidelog.client.admin_topics import TopicAdmin
from tidelog.client.client import Client


class Admin(TopicAdmin, ConfigAdmin, OffsetAdmin, ClusterAdmin):
    def __init__(self, client: Client) -> None:
        self.client = client
