"""The ids of the topics that a streaming query reads, kept in a file of its own over restarts (`topicIdsFile`).

A checkpoint holds offsets, in the format of Spark's own connector, which has no room for ids: after a restart nobody
could tell a topic from another with the same name and length. The file says to which topics the offsets of the last
finished batch belong:

    {"topics": {"orders": "<id>"}, "planned": {"end": {"orders": {"0": 90}}, "topics": {"orders": "<other id>"}}}

`planned` is there from the moment that a batch is planned from other topics than the last one, until Spark says that
the batch is finished, which it does when the next one is due. A query that is restarted in between knows whether the
batch was finished: then the offsets that it goes on from are those of `end`. The file is replaced atomically, and only
when ids change.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pyspark_tidelog.errors import OptionError
from pyspark_tidelog.kafka.offsets import Offsets, to_json
from tidelog.model.ids import ZERO_UUID, Uuid, format_uuid, parse_uuid

OPTION: Final = "topicIdsFile"

Ids = Mapping[str, Uuid]


class KeptTopicIds:
    """The file of topic ids of one query."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._written: dict[str, Any] | None = None  # the content that this process wrote last

    def load(self, start: Offsets) -> dict[str, Uuid]:
        """Return the ids of the topics that these offsets belong to; {} where there is no file yet. OptionError where
        the file is not one of topic ids."""
        try:
            found = json.loads(self._path.read_bytes())
            planned = found.get("planned")
            is_finished = planned is not None and planned["end"] == to_json(start)
            named = planned["topics"] if is_finished else found["topics"]
            return {str(topic): parse_uuid(text) for topic, text in named.items()}
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise self._refused(f"can not be read: {error.strerror}") from None
        except (ValueError, AttributeError, KeyError, TypeError) as error:
            raise self._refused(f"is not a file of topic ids: {error!r}") from None

    def keep(self, ids: Ids) -> None:
        """Write down that the offsets of the query belong to these topics from now on."""
        self._write({"topics": _texts(ids)})

    def plan(self, former: Ids, end: Offsets, ids: Ids) -> None:
        """Write down that the offsets belong to the topics `former` until the batch that ends at `end` is finished, and
        then to the topics `ids`."""
        if _texts(former) != _texts(ids):
            self._write({"topics": _texts(former), "planned": {"end": to_json(end), "topics": _texts(ids)}})

    def _write(self, content: dict[str, Any]) -> None:
        if content == self._written:
            return
        partial = self._path.with_name(f"{self._path.name}.partial")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with partial.open("w") as file:
                json.dump(content, file)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(self._path)
        except OSError as error:
            raise self._refused(f"can not be written: {error.strerror}") from None
        self._written = content

    def _refused(self, problem: str) -> OptionError:
        step = "name a file of this query alone, which the driver can read and write"
        return OptionError(OPTION, f"{self._path} {problem}", step)


def _texts(ids: Ids) -> dict[str, str]:
    """Return the ids as text. Old brokers know no ids (zero): these are left out."""
    return {topic: format_uuid(each) for topic, each in sorted(ids.items()) if each != ZERO_UUID}
