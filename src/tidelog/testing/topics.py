"""Topics for tests, made by our own client: a test suite need not have an admin client of its own."""

from collections.abc import Mapping

from tidelog.client.admin.admin_client import Admin
from tidelog.client.admin.topics import NewTopic
from tidelog.client.client import Client
from tidelog.testing.broker import Setting, setting_text


def create_topic(bootstrap_servers: str, name: str, partitions: int, configs: Mapping[str, Setting]) -> None:
    """Create a topic. ClientError says why that is not possible, and what to do."""
    texts = {key.replace("_", "."): setting_text(value) for key, value in configs.items()}
    with Client(bootstrap_servers) as client:
        Admin(client).create_topic(NewTopic(name, partitions, configs=texts))
