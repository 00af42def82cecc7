"""Transactions under duplicated, delayed and lost requests, against partitions that know nothing but markers.

Two producers compete for a transactional id, of either protocol; requests are delivered again at any time, answers get
lost, decisions too (the append failed), the coordinator is reloaded, time runs out, markers arrive late and in any
order. Each record in a partition belongs to what its producer believes to be one transaction. In the end:

- every transaction is wholly committed or wholly aborted, over all partitions, and what a producer was told is true;
- nothing is committed that no producer asked to commit;
- no id and epoch was given to two inits, a fenced producer stayed fenced, and no other is fenced;
- every decision was completed; the live state is always what the log says.

The old protocol can not tell a delayed EndTxn from one of the next transaction (that is why there is a new one): such
requests are delivered again only while theirs is the current transaction, or once their epoch is fenced.
"""

from dataclasses import dataclass, field
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.unit.coordinator.transaction.scene import ID, TIMEOUT_MS, Pair, Scene

from tidelog.coordinator.transaction.requests import SendMarkers
from tidelog.coordinator.transaction.states import AT_REST, TransactionState
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.init_producer_id import InitProducerIdRequest

PARTITIONS = ("a-0", "a-1", "b-0")
INTERVAL_MS = 10_000
WAIT = (ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)


@dataclass(eq=False)
class Transaction:
    """A transaction as its producer sees it."""

    producer: Pair
    wants: bool | None = None  # True: to commit; None: not decided
    commit_asked: bool = False
    told: bool | None = None  # True: committed; False: aborted; None: nothing


@dataclass(eq=False)
class Producer:
    is_v2: bool
    pair: Pair | None = None
    transaction: Transaction | None = None
    is_keeper: bool = False  # it keeps a transaction that the other producer began


@dataclass
class Partition:
    """A partition's log: the producers' epochs, their open records, and the outcome of the others."""

    epochs: dict[int, int] = field(default_factory=dict)
    coordinator_epochs: dict[int, int] = field(default_factory=dict)
    open: dict[int, list[Transaction]] = field(default_factory=dict)
    closed: list[tuple[Transaction, bool]] = field(default_factory=list)

    def append(self, transaction: Transaction) -> None:
        producer_id, epoch = transaction.producer
        assert epoch >= self.epochs.get(producer_id, -1), "the coordinator let a fenced producer in"
        self.epochs[producer_id] = epoch
        records = self.open.setdefault(producer_id, [])
        assert all(each is transaction for each in records), "an earlier transaction is still open here"
        records.append(transaction)

    def write_marker(self, marker: SendMarkers) -> ErrorCode:
        known = self.epochs.get(marker.producer_id, -1)
        is_open = bool(self.open.get(marker.producer_id))
        is_late = marker.transaction_version >= 2 and marker.producer_epoch == known and is_open and known < 32767
        if marker.producer_epoch < known or is_late:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        if marker.coordinator_epoch < self.coordinator_epochs.get(marker.producer_id, -1):
            return ErrorCode.TRANSACTION_COORDINATOR_FENCED
        self.epochs[marker.producer_id] = marker.producer_epoch
        self.coordinator_epochs[marker.producer_id] = marker.coordinator_epoch
        self.closed += [(each, marker.committed) for each in self.open.pop(marker.producer_id, [])]
        return ErrorCode.NONE


class QuietScene(Scene):
    """A scene that compares its state with a fresh replay at reloads only."""

    def check(self) -> None:
        pass


class Transactions(RuleBasedStateMachine):
    @initialize(
        epoch=st.sampled_from([0, 32764, 32765, 32765]),
        kinds=st.sampled_from([(True, True), (True, True), (True, False), (False, True), (False, False)]),
        transaction_version=st.sampled_from([1, 2, 2]),
    )
    def begin(self, epoch: int, kinds: tuple[bool, bool], transaction_version: int) -> None:
        self.scene = QuietScene(transaction_version=transaction_version)
        self.scene.topic_partition(TransactionState.EMPTY, (5, epoch), version=0)
        self.scene.reload()
        self.producers = [Producer(kind and transaction_version == 2) for kind in kinds]
        self.partitions = {name: Partition() for name in PARTITIONS}
        self.transactions: list[Transaction] = []
        self.markers: list[tuple[SendMarkers, str]] = []
        self.reports: list[tuple[SendMarkers, str, ErrorCode]] = []
        self.sent: list[tuple[str, Producer, Transaction | None, dict[str, Any]]] = []
        self.handed: dict[Pair, object] = {}
        self.fenced: dict[Pair, None] = {}
        self.good: Pair | None = None  # the identity given last, if nothing can have fenced it since

    # Requests. Their answers may get lost, and their decisions too, with the coordinator.

    def deliver(self, kind: str, fate: str, **given: Any) -> Any:
        """Deliver a request; return its answer, or None when the answer is lost."""
        log, effects = len(self.scene.log), len(self.scene.effects)
        answer = self.keep_request(**given) if kind == "keep" else getattr(self.scene, kind)(**given)
        if given.get("producer") in self.fenced and kind == "end":
            assert len(self.scene.log) == log, "a fenced producer decided something"
        if fate == "append fails":
            del self.scene.log[log:]
            del self.scene.effects[effects:]
            self.drop()
            return None
        self.send_markers()
        return None if fate == "answer lost" else answer

    def keep_request(self, expected: Pair) -> Any:
        request = InitProducerIdRequest(
            transactional_id=ID,
            transaction_timeout_ms=TIMEOUT_MS,
            producer_id=expected[0],
            producer_epoch=expected[1],
            keep_prepared_txn=True,
        )
        response = self.scene.ask(request, 6)
        if response.error_code:
            return ErrorCode(response.error_code)
        ongoing = (response.ongoing_txn_producer_id, response.ongoing_txn_producer_epoch)
        return (response.producer_id, response.producer_epoch), ongoing

    def send_markers(self) -> None:
        self.markers += [(effect, str(each)) for effect in self.scene.effects for each in effect.partitions]
        self.scene.effects.clear()

    def hand_out(self, pair: Pair, because: object) -> None:
        assert self.handed.setdefault(pair, because) == because, f"{pair} was given twice"
        assert pair not in self.fenced
        assert pair[1] < 32767, "the last epoch is for fencing"

    FATES = st.sampled_from(["answered", "answered", "answered", "answer lost", "append fails"])
    WHO = st.integers(0, 1)
    NAMES = st.lists(st.sampled_from(PARTITIONS), min_size=1, max_size=3)

    @rule(who=WHO, names_itself=st.booleans(), keeps=st.booleans(), fate=FATES)
    def init(self, who: int, names_itself: bool, keeps: bool, fate: str) -> None:
        producer = self.producers[who]
        self.good = None
        expected = producer.pair if names_itself and producer.pair else (-1, -1)
        kind = "keep" if keeps and producer.is_v2 else "init"
        given = {"expected": expected}
        self.sent.append((kind, producer, None, given))
        answer = self.deliver(kind, fate, **given)
        if answer is None or answer in WAIT:
            return
        producer.transaction, producer.is_keeper, before, producer.pair = None, False, producer.pair, None
        if isinstance(answer, ErrorCode):
            assert answer is ErrorCode.PRODUCER_FENCED
            assert before is not None
            return
        pair, ongoing = answer if kind == "keep" else (answer, (-1, -1))
        self.hand_out(pair, expected if expected != (-1, -1) else object())
        self.fenced |= dict.fromkeys(each for each in self.handed if each != pair)
        producer.pair = self.good = pair
        if ongoing != (-1, -1):
            found = [each for each in self.transactions if each.producer == ongoing]
            producer.transaction = found[-1] if found else Transaction(ongoing)
            producer.transaction.wants = None
            producer.is_keeper = True

    def may_write(self) -> bool:
        return any(each.pair and not each.is_keeper for each in self.producers)

    @precondition(may_write)
    @rule(who=WHO, names=NAMES)
    def write(self, who: int, names: list[str]) -> None:
        producer = self.producers[who]
        for name in names:
            if producer.pair is not None and not producer.is_keeper:
                self.write_one(producer, producer.pair, name)

    def write_one(self, producer: Producer, pair: Pair, name: str) -> None:
        if producer.transaction is not None and producer.transaction.wants is not None:
            return  # it has asked to end the transaction
        add = "add" if producer.is_v2 else "add_v3"
        self.sent.append((add, producer, None, {"producer": pair, "names": (name,)}))
        code = getattr(self.scene, add)(pair, name)
        if code is ErrorCode.NONE and not producer.is_v2:
            code = self.scene.verify(pair, name)[name]
        if code in WAIT:
            return
        if code is not ErrorCode.NONE:
            assert pair != self.good, "what was given is of no use"
            producer.pair = producer.transaction = None
            return
        assert pair not in self.fenced
        if producer.transaction is None:
            producer.transaction = Transaction(pair)
            self.transactions.append(producer.transaction)
        self.partitions[name].append(producer.transaction)

    @precondition(lambda self: any(each.transaction for each in self.producers))
    @rule(who=WHO, commit=st.booleans(), fate=FATES)
    def end(self, who: int, commit: bool, fate: str) -> None:
        """Ask to end the transaction, perhaps again; a producer that asks again does not change its mind."""
        producer = self.producers[who]
        transaction, pair = producer.transaction, producer.pair
        if transaction is None or pair is None:
            return
        if transaction.wants is None:
            transaction.wants = commit
        transaction.commit_asked |= transaction.wants
        given = {"producer": pair, "commit": transaction.wants, "version": 5 if producer.is_v2 else 4}
        self.sent.append(("end", producer, transaction, given))
        answer = self.deliver("end", fate, **given)
        if answer is None or answer in WAIT:
            return
        producer.transaction, producer.is_keeper = None, False
        if isinstance(answer, ErrorCode):
            assert pair != self.good, "its own producer is fenced"
            producer.pair = None
            return
        assert transaction.told in (None, transaction.wants)
        transaction.told = transaction.wants
        if producer.is_v2:
            if pair in self.fenced:  # the other producer ended it: the answer is the same, and of no use
                producer.pair = None
            else:
                self.hand_out(answer, pair)
                self.fenced[pair] = None
                producer.pair = self.good = answer

    @rule(
        who=WHO,
        names=NAMES,
        commit=st.booleans(),
        fate=FATES,
        rounds=st.integers(1, 3),
        disturbance=st.sampled_from(["none", "time runs out", "a late end", "one marker"]),
    )
    def transact(self, who: int, names: list[str], commit: bool, fate: str, rounds: int, disturbance: str) -> None:
        """Run transactions as clients mostly do: one after the other, with little going wrong until the last end."""
        for left in reversed(range(rounds)):
            if self.producers[who].pair is None:
                self.init(who, names_itself=False, keeps=False, fate="answered")
                self.all_markers_arrive()
            self.write(who, names)
            if disturbance == "time runs out" and left == 0:
                self.advance(TIMEOUT_MS + INTERVAL_MS)
                self.all_markers_arrive()
                self.write(who, names)
            elif disturbance == "a late end":
                self.an_old_end_arrives()
            self.end(who, commit, fate if left == 0 else "answered")
            if left and disturbance == "one marker" and self.markers:
                self.marker_arrives(0)
            elif left:
                self.all_markers_arrive()

    def an_old_end_arrives(self) -> None:
        ends = [each for each in self.sent if each[0] == "end" and each[1].is_v2]
        if ends:
            self.good = None
            self.deliver("end", "answered", **ends[-1][3])

    @rule(who=WHO, names=NAMES, times=st.integers(1, 3), commit=st.booleans(), fate=FATES)
    def take_over(self, who: int, names: list[str], times: int, commit: bool, fate: str) -> None:
        """Let a transaction outlive its producer; the other producer ends it."""
        if self.producers[1 - who].is_v2:
            self.write(who, names)
            for _ in range(times):
                self.init(1 - who, names_itself=False, keeps=True, fate="answered")
            self.end(1 - who, commit, fate)

    @precondition(lambda self: self.sent)
    @rule(data=st.data())
    def deliver_again(self, data: st.DataObject) -> None:
        kind, producer, transaction, given = data.draw(st.sampled_from(self.sent))
        if kind == "end" and not producer.is_v2:
            is_current = producer.transaction is transaction
            if not is_current and given["producer"] not in self.fenced:
                return
        if kind in ("add", "add_v3"):
            getattr(self.scene, kind)(given["producer"], *given["names"])
        else:
            self.good = None
            answer = self.deliver(kind, "answered", **given)
            if kind in ("init", "keep") and given["expected"] == (-1, -1) and not isinstance(answer, ErrorCode):
                pair = answer[0] if kind == "keep" else answer
                self.hand_out(pair, object())
                self.fenced |= dict.fromkeys(each for each in self.handed if each != pair)

    # The world

    @precondition(lambda self: self.markers)
    @rule()
    def all_markers_arrive(self) -> None:
        """Let all markers arrive, in order, as they mostly do."""
        while self.markers:
            self.marker_arrives(0)

    @precondition(lambda self: self.markers)
    @rule(data=st.data())
    def a_marker_arrives(self, data: st.DataObject) -> None:
        self.marker_arrives(data.draw(st.integers(0, len(self.markers) - 1)))

    def marker_arrives(self, index: int) -> None:
        effect, name = self.markers.pop(index)
        code = self.partitions[name].write_marker(effect)
        if effect.coordinator_epoch == self.scene.coordinator_epoch:
            assert code is ErrorCode.NONE
        self.reports.append((effect, name, code))
        self.scene.written(effect, code, name)

    @precondition(lambda self: self.reports)
    @rule(data=st.data())
    def a_report_arrives_again(self, data: st.DataObject) -> None:
        effect, name, code = data.draw(st.sampled_from(self.reports))
        self.scene.written(effect, code, name)

    @rule()
    def reload(self) -> None:
        assert self.scene.machine.durable() == self.scene.load().durable()
        self.drop()

    def drop(self) -> None:
        self.scene.reload()
        self.send_markers()

    @rule(ms=st.sampled_from([INTERVAL_MS, TIMEOUT_MS + INTERVAL_MS]))
    def advance(self, ms: int) -> None:
        self.good = None
        self.scene.advance(ms)
        self.send_markers()

    @invariant()
    def what_is_told_is_not_contradicted(self) -> None:
        for partition in getattr(self, "partitions", {}).values():
            for transaction, committed in partition.closed:
                assert transaction.told in (None, committed)
                assert transaction.commit_asked or not committed

    def teardown(self) -> None:
        if not hasattr(self, "scene"):
            return
        assert self.scene.machine.durable() == self.scene.load().durable()
        self.scene.advance(2 * TIMEOUT_MS)
        self.scene.reload()
        self.send_markers()
        self.all_markers_arrive()
        assert self.scene.state() in AT_REST, "what was decided was not completed"
        self.everything_is_whole()

    def everything_is_whole(self) -> None:
        outcomes: dict[Transaction, bool] = {}
        for partition in self.partitions.values():
            assert not any(partition.open.values()), "a transaction hangs"
            for transaction, committed in partition.closed:
                assert outcomes.setdefault(transaction, committed) == committed, "it is half committed"
        for transaction, committed in outcomes.items():
            assert transaction.told in (None, committed), "a producer was told otherwise"


TestTransactions = Transactions.TestCase
TestTransactions.settings = settings(max_examples=150, stateful_step_count=40, deadline=None, derandomize=True)
