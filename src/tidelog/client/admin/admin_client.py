"""What an operator asks of a cluster. One class for the caller; a file for each subject behind it.

Where several things are asked for at once, each has an outcome of its own: its value, or the ClientError that says why
not. What asks for one thing raises.
"""

from tidelog.client.admin.cluster import ClusterAdmin
from tidelog.client.admin.configs import ConfigAdmin
from tidelog.client.admin.group_offsets import GroupOffsetAdmin
from tidelog.client.admin.groups import GroupAdmin
from tidelog.client.admin.offsets import OffsetAdmin
from tidelog.client.admin.topics import TopicAdmin
from tidelog.client.admin.transactions import TransactionAdmin
from tidelog.client.client import Client
from tidelog.client.coordinators import CoordinatorClient, CoordinatorType


class Admin(TopicAdmin, ConfigAdmin, OffsetAdmin, ClusterAdmin, GroupAdmin, GroupOffsetAdmin, TransactionAdmin):
    def __init__(self, client: Client) -> None:
        self.client = client
        self.groups = CoordinatorClient(client, CoordinatorType.GROUP)
        self.transactions = CoordinatorClient(client, CoordinatorType.TRANSACTION)
