"""One step of one member towards its target, situation by situation."""

from typing import Any

import pytest
from tests.unit.coordinator.consumer.bench import Bench

from tidelog.coordinator.group.consumer.member import ConsumerMember, MemberState
from tidelog.coordinator.group.consumer.reconciliation import Reconciliation
from tidelog.coordinator.group.consumer.subscriptions import ResolvedRegex
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import Uuid
from tidelog.protocol.messages.consumer_group_heartbeat import TopicPartitions

STABLE, UNREVOKED, UNRELEASED = MemberState.STABLE, MemberState.UNREVOKED_PARTITIONS, MemberState.UNRELEASED_PARTITIONS
EPOCH = 10


class Scene:
    """A member that reads `t` and `u`, in epoch 10. The target has epoch 11 unless a test says otherwise."""

    def __init__(self) -> None:
        self.bench = Bench()
        self.t, self.u = self.bench.topic("t", 8), self.bench.topic("u", 8)

    def step(
        self,
        state: MemberState,
        assigned: dict[str, dict[int, int]],
        target: dict[str, list[int]],
        *,
        pending: dict[str, dict[int, int]] | None = None,
        owned: dict[str, list[int]] | None = None,
        others: tuple[int, ...] = (),
        target_epoch: int = EPOCH + 1,
        has_subscription_changed: bool = False,
        **fields: Any,
    ) -> ConsumerMember:
        """Reconcile the member once and return its new state. `others` are partitions of `t` that other members own."""
        before = ConsumerMember(
            "a",
            EPOCH,
            EPOCH,
            state,
            topics=fields.pop("topics", ("t", "u")),
            assigned=self.ids(assigned),
            pending_revocation=self.ids(pending or {}),
            **fields,
        )
        self.before = before
        mine = {
            (topic, each)
            for held in (before.assigned, before.pending_revocation)
            for topic in held
            for each in held[topic]
        }
        return Reconciliation(
            self.bench.shard.image,
            {"u.*": ResolvedRegex(("u",), 0, 0)},
            lambda topic, each: (topic, each) in mine or (topic == self.t and each in others),
            before,
            target_epoch,
            self.ids(target),
            None if owned is None else [TopicPartitions(topic_id=i, partitions=p) for i, p in self.ids(owned).items()],
            has_subscription_changed,
        ).next()

    def ids(self, named: dict[str, Any]) -> dict[Uuid, Any]:
        return {self.t if name == "t" else self.u: partitions for name, partitions in named.items()}

    def has(self, member: ConsumerMember, state: MemberState, epoch: int, assigned: Any, pending: Any = None) -> None:
        found = (member.state, member.epoch, member.assigned, member.pending_revocation)
        assert found == (state, epoch, self.ids(assigned), self.ids(pending or {}))
        assert member.previous_epoch == EPOCH


def test_stable_without_a_new_target() -> None:
    scene = Scene()
    assert scene.step(STABLE, {"t": {1: 9}}, {"t": [1]}, target_epoch=EPOCH) is scene.before


def test_stable_to_stable_with_the_same_assignment() -> None:
    scene = Scene()
    scene.has(scene.step(STABLE, {"t": {1: 9}}, {"t": [1]}), STABLE, 11, {"t": {1: 9}})


def test_stable_to_stable_with_more() -> None:
    scene = Scene()
    scene.has(
        scene.step(STABLE, {"t": {1: 9}}, {"t": [1, 2], "u": [3]}), STABLE, 11, {"t": {1: 9, 2: 11}, "u": {3: 11}}
    )


def test_stable_to_unrevoked() -> None:
    scene = Scene()
    after = scene.step(STABLE, {"t": {1: 9, 2: 9}, "u": {1: 8}}, {"t": [2, 3]})
    scene.has(after, UNREVOKED, 10, {"t": {2: 9}}, {"t": {1: 9}, "u": {1: 8}})


def test_what_is_given_back_already_needs_no_waiting() -> None:
    scene = Scene()
    after = scene.step(STABLE, {"t": {1: 9, 2: 9}}, {"t": [2, 3]}, owned={"t": [2]})
    scene.has(after, STABLE, 11, {"t": {2: 9, 3: 11}})


def test_stable_to_unreleased() -> None:
    scene = Scene()
    after = scene.step(STABLE, {"t": {1: 9}}, {"t": [1, 2, 3]}, others=(2,))
    scene.has(after, UNRELEASED, 11, {"t": {1: 9, 3: 11}})


def test_stable_to_unreleased_with_nothing_free() -> None:
    scene = Scene()
    scene.has(scene.step(STABLE, {"t": {1: 9}}, {"t": [1, 2]}, others=(2,)), UNRELEASED, 11, {"t": {1: 9}})


@pytest.mark.parametrize("owned", [None, {"t": [1, 2]}, {"t": [1]}])
def test_unrevoked_stays_until_it_says_so(owned: dict[str, list[int]] | None) -> None:
    scene = Scene()
    after = scene.step(UNREVOKED, {"t": {2: 9}}, {"t": [2, 3]}, pending={"t": {1: 9}}, owned=owned)
    assert after is scene.before


def test_unrevoked_to_stable() -> None:
    scene = Scene()
    after = scene.step(UNREVOKED, {"t": {2: 9}}, {"t": [2, 3]}, pending={"t": {1: 9}}, owned={"t": [2]})
    scene.has(after, STABLE, 11, {"t": {2: 9, 3: 11}})


def test_unrevoked_to_unrevoked_when_the_target_has_moved_on() -> None:
    scene = Scene()
    after = scene.step(UNREVOKED, {"t": {2: 9, 3: 9}}, {"t": [2]}, pending={"t": {1: 9}}, owned={"t": [2, 3]})
    scene.has(after, UNREVOKED, 10, {"t": {2: 9}}, {"t": {3: 9}})


def test_unrevoked_to_unreleased() -> None:
    scene = Scene()
    after = scene.step(UNREVOKED, {"t": {2: 9}}, {"t": [2, 3]}, pending={"t": {1: 9}}, owned={"t": [2]}, others=(3,))
    scene.has(after, UNRELEASED, 11, {"t": {2: 9}})


def test_what_was_given_back_may_come_back() -> None:
    """The partition was the member's own until now, so no other member can have it."""
    scene = Scene()
    after = scene.step(UNREVOKED, {"t": {2: 9}}, {"t": [1, 2]}, pending={"t": {1: 9}}, owned={"t": [2]})
    scene.has(after, STABLE, 11, {"t": {1: 11, 2: 9}})


def test_unreleased_takes_what_has_become_free() -> None:
    scene = Scene()
    scene.has(scene.step(UNRELEASED, {"t": {1: 9}}, {"t": [1, 2]}), STABLE, 11, {"t": {1: 9, 2: 11}})


def test_unreleased_stays() -> None:
    scene = Scene()
    after = scene.step(UNRELEASED, {"t": {1: 9}}, {"t": [1, 2]}, others=(2,), target_epoch=EPOCH)
    assert after == scene.before


def test_unreleased_to_unrevoked() -> None:
    scene = Scene()
    after = scene.step(UNRELEASED, {"t": {1: 9, 4: 9}}, {"t": [1, 2]}, others=(2,))
    scene.has(after, UNREVOKED, 10, {"t": {1: 9}}, {"t": {4: 9}})


@pytest.mark.parametrize("owned", [None, {"t": [1]}])
def test_an_unknown_state_is_fenced(owned: dict[str, list[int]] | None) -> None:
    with pytest.raises(ApiError) as refused:
        Scene().step(MemberState.UNKNOWN, {"t": {1: 9}}, {"t": [1]}, owned=owned)
    assert refused.value.code is ErrorCode.FENCED_MEMBER_EPOCH


def test_an_unknown_state_begins_anew_with_nothing() -> None:
    scene = Scene()
    after = scene.step(MemberState.UNKNOWN, {"t": {1: 9, 2: 9}}, {"t": [1, 3]}, owned={})
    scene.has(after, STABLE, 11, {"t": {1: 9, 3: 11}})


def test_topics_that_are_not_subscribed_have_no_target() -> None:
    scene = Scene()
    after = scene.step(STABLE, {"u": {1: 9}}, {"t": [1], "u": [1]}, topics=("t",))
    scene.has(after, UNREVOKED, 10, {}, {"u": {1: 9}})


def test_topics_by_regular_expression_are_subscribed() -> None:
    scene = Scene()
    after = scene.step(STABLE, {"t": {1: 9}}, {"t": [1], "u": [1]}, topics=("t",), regex="u.*")
    scene.has(after, STABLE, 11, {"t": {1: 9}, "u": {1: 11}})


def test_an_unresolved_expression_matches_nothing() -> None:
    scene = Scene()
    after = scene.step(STABLE, {}, {"u": [1]}, topics=(), regex="v.*")
    scene.has(after, STABLE, 11, {})


def test_a_deleted_topic_goes() -> None:
    scene = Scene()
    scene.bench.delete("u")
    after = scene.step(STABLE, {"t": {1: 9}, "u": {1: 9}}, {"t": [1], "u": [1]}, owned={"t": [1]})
    scene.has(after, STABLE, 11, {"t": {1: 9}})


def test_a_changed_subscription_in_the_same_epoch() -> None:
    scene = Scene()
    fields: Any = {"target_epoch": EPOCH, "has_subscription_changed": True, "topics": ("t",)}
    after = scene.step(STABLE, {"t": {1: 9}, "u": {1: 9}}, {"t": [1], "u": [1]}, **fields)
    scene.has(after, UNREVOKED, 10, {"t": {1: 9}}, {"u": {1: 9}})
    after = scene.step(STABLE, {"t": {1: 9}, "u": {1: 9}}, {"t": [1], "u": [1]}, owned={"t": [1]}, **fields)
    scene.has(after, STABLE, 10, {"t": {1: 9}})
    assert scene.step(STABLE, {"t": {1: 9}}, {"t": [1]}, **fields) is scene.before


def test_a_changed_subscription_adds_to_what_is_to_be_given_back() -> None:
    scene = Scene()
    after = scene.step(
        UNREVOKED,
        {"t": {1: 9}, "u": {1: 9}},
        {"t": [1]},
        pending={"u": {2: 8}, "t": {5: 8}},
        owned={"t": [1, 5], "u": [1, 2]},
        has_subscription_changed=True,
        topics=("t",),
    )
    scene.has(after, UNREVOKED, 10, {"t": {1: 9}}, {"u": {2: 8, 1: 9}, "t": {5: 8}})
