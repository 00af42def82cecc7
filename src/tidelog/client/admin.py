"""What an operator asks of a cluster. One class for the caller; a file for each subject behind it.

Where several things are asked for at once, each has an outcome of its own: its value, or the ClientError that says why
not. What asks for one thing raises.
"""

from tidelog.client.admin_cluster import ClusterAdmin
from tidelog.client.admin_configs import ConfigAdmin
from tidelog.client.admin_group_offsets import GroupOffsetAdmin
from tidelog.client.admin_groups import GroupAdmin
from tidelog.client.admin_offsets import OffsetAdmin
from tidelog.client.admin_topics import TopicAdmin
from tidelog.client.admin_transactions import TransactionAdmin
from tidelog.client.client import Client
from tidelog.client.coordinators import CoordinatorKind, Coordinators


class Admin(TopicAdmin, ConfigAdmin, OffsetAdmin, ClusterAdmin, GroupAdmin, GroupOffsetAdmin, TransactionAdmin):
    def __init__(self, client: Client) -> None:
        self.client = client
        self.groups = Coordinators(client, CoordinatorKind.GROUP)
        self.transactions = Coordinators(client, CoordinatorKind.TRANSACTION)
