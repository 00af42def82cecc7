"""The reference page of the APIs, rendered from the declarations: `python -m tidelog.protocol.reference` prints it."""

from tidelog.protocol.messages.registry import APIS, REQUESTS
from tidelog.protocol.schema import MessageSchema, schema_of

HEAD = """# APIs

The messages that Tidelog can read and write, from the declarations in `src/tidelog/protocol/messages`. This is what the
codec knows, not what a broker serves: which APIs a running broker answers, and in which versions, it says itself in
ApiVersions.

The versions are those of Apache Kafka 4.3. From the flexible version on, a message has compact lengths and may carry
tagged fields. The listener is the one on which a Kafka node serves the API.

| key | API | versions | flexible from | listener |
|--:|---|---|---|---|
"""

FOOT = """
A version marked unstable is one that Kafka itself does not offer unless told to. Keys 4 to 7 left with Kafka 4.0.
"""


def render() -> str:
    rows = [_row(key, api.name, schema_of(REQUESTS[key]), " and ".join(api.listeners)) for key, api in APIS.items()]
    return HEAD + "".join(rows) + FOOT


def _row(key: int, name: str, schema: MessageSchema, listeners: str) -> str:
    unstable = f" ({schema.versions.highest} unstable)" if schema.latest_version_unstable else ""
    flexible = str(schema.flexible.lowest) if schema.flexible else "never"
    return f"| {key} | {name} | {schema.versions}{unstable} | {flexible} | {listeners} |\n"


if __name__ == "__main__":
    print(render(), end="")
