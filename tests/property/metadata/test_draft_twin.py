"""After any valid sequence of records the draft agrees with its twin, images do not change, and a snapshot gives the
same image."""

import random
from typing import Any
from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.property.metadata import twin
from tests.property.metadata.valid_records import KINDS
from tests.unit.metadata.built import metadata_version

from tidelog.metadata import shared_map
from tidelog.metadata.changes import Changes
from tidelog.metadata.draft import MetadataDraft
from tidelog.metadata.image import MetadataImage
from tidelog.metadata.record_framing import decode_metadata_record, encode_metadata_record
from tidelog.metadata.record_versions import record_version
from tidelog.metadata.snapshot_records import image_records

FREEZE = -1

# A step is the kind of the next record and a seed for its contents, or FREEZE: an image is taken.
steps = st.lists(
    st.tuples(st.integers(FREEZE, len(KINDS) - 1), st.integers(0, 2**32)),
    min_size=20,
    max_size=80,
)
# So small that buckets are split and shared even by a handful of entries.
tiny_buckets = mock.patch.object(shared_map, "ENTRIES_A_BUCKET", 2)


class Run:
    def __init__(self) -> None:
        self.draft = MetadataDraft(tracks_changes=True)
        self.plain = twin.empty()
        self.images: list[tuple[MetadataImage, twin.Plain]] = []
        self.taken = 0
        self.replay(metadata_version())
        self.freeze()

    def take(self, kind: int, seed: int) -> None:
        self.taken += 1  # part of each seed, so that no id comes twice, as in a cluster
        record = None if kind == FREEZE else KINDS[kind](random.Random(seed << 8 | self.taken), self.plain)
        if kind == FREEZE:
            self.freeze()
        elif record is not None:
            self.replay(record)

    def replay(self, record: Any) -> None:
        """Replay the record after encoding and decoding it, so that fields which a version can not hold must not
        matter."""
        framed = encode_metadata_record(record, record_version(type(record), 30))
        self.draft.replay(decode_metadata_record(framed).message)
        self.plain = twin.after(self.plain, record)

    def freeze(self) -> None:
        self.images.append((self.draft.freeze(len(self.images), 1, 2), self.plain))


def run(taken: list[tuple[int, int]]) -> Run:
    made = Run()
    for kind, seed in taken:
        made.take(kind, seed)
    made.freeze()
    return made


@tiny_buckets
@settings(max_examples=100, deadline=None)
@given(steps)
def test_a_draft_and_all_its_images_say_what_the_twin_says(taken: list[tuple[int, int]]) -> None:
    made = run(taken)
    assert twin.plain_of(made.draft) == made.plain
    for image, plain in made.images:
        assert twin.plain_of(image) == plain
        assert {topic.name: topic for topic in image.topics.by_id.values()} == dict(image.topics.by_name.items())


@tiny_buckets
@settings(max_examples=100, deadline=None)
@given(steps)
def test_the_records_of_an_image_make_it_again(taken: list[tuple[int, int]]) -> None:
    image, plain = run(taken).images[-1]
    again = MetadataDraft()
    for message, version in image_records(image):
        again.replay(decode_metadata_record(encode_metadata_record(message, version)).message)
    copy = again.freeze(*image.provenance)
    assert copy == image
    assert twin.plain_of(copy) == plain


@tiny_buckets
@settings(max_examples=100, deadline=None)
@given(steps)
def test_changes_name_all_that_differs_between_two_images(taken: list[tuple[int, int]]) -> None:
    made = run(taken[: len(taken) // 2])
    before = made.plain
    made.draft.take_changes()
    for kind, seed in taken[len(taken) // 2 :]:
        made.take(kind, seed)
    changes, after = made.draft.take_changes(), made.plain

    assert set(changes.topics_deleted) == set(before["topics"]) - set(after["topics"])
    assert set(changes.topics_created) == set(after["topics"]) - set(before["topics"])
    for topic_id, topic in after["topics"].items():
        known = before["topics"].get(topic_id, {"partitions": {}})["partitions"]
        assert _differing(known, topic["partitions"]) <= set(changes.partitions.get(topic_id, {}))
    for part, named in _named(changes).items():
        assert _differing(before[part], after[part]) <= named
    assert changes.producer_ids or before["next_producer_id"] == after["next_producer_id"]


def _named(changes: Changes) -> dict[str, set[Any]]:
    return {
        "brokers": set(changes.brokers),
        "features": set(changes.features),
        "controllers": set(changes.controllers),
        "acls": set(changes.acls),
        "tokens": set(changes.delegation_tokens),
        "configs": {(each.type.value, each.name) for each in changes.configs},
        "scram": {(each.mechanism.value, each.name) for each in changes.scram_credentials},
        "quotas": {frozenset(each) for each in changes.client_quotas},
    }


def _differing(before: dict[Any, Any], after: dict[Any, Any]) -> set[Any]:
    return {each for each in {**before, **after} if before.get(each) != after.get(each)}
