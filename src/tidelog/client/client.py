"""The cluster as a client sees it: a connection to each broker, what is known of the topics, and asking until it works.

`ask` is for what has one answer and can wait: it retries what passes by itself, and raises what does not, as a
ClientError that says what to do next. `send` and `poll` are for what keeps several requests in flight: producer and
consumer. A consumer's long polls have connections of their own (`lane`), because a broker answers in order, and
nothing else should wait behind them.
"""

import logging
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Final, Self

from tidelog.client.addresses import parse_bootstrap
from tidelog.client.backoff import Backoff
from tidelog.client.connection import Connection, OnDone
from tidelog.client.errors import CannotConnect, ClientError, TimedOut, error_code
from tidelog.client.metadata import Metadata, Node, TopicMetadata
from tidelog.client.security.reading import access_of
from tidelog.client.security.security import PLAINTEXT, Security
from tidelog.client.world import SocketWorld, World
from tidelog.model.errors import RETRIABLE, ErrorCode
from tidelog.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from tidelog.protocol.versions import Versions

ASKING: Final = "asking"
FETCHING: Final = "fetching"
FIRST_TRIES: Final = 2  # of each bootstrap address, before CannotConnect
WAIT_MS_MAX: Final = 1_000
LOOK_AGAIN_MS: Final = 50  # after which a wait looks whether a leader was found or something is due
REFRESH_PAUSE_MS: Final = 100  # at least, between two calls of `refresh_soon` that send
# A topic takes some milliseconds to be made; one that is still unknown after this is not coming.
NEW_TOPIC_PATIENCE_MS: Final = 5_000
KNOWN_TOPIC_PATIENCE_MS: Final = 500

log = logging.getLogger("tidelog.client")


class Client:
    def __init__(
        self,
        bootstrap: str | Sequence[str],
        *,
        client_id: str = "tidelog",
        request_timeout_ms: int = 30_000,
        retry_timeout_ms: int = 60_000,
        is_patient: bool = False,
        security: Security = PLAINTEXT,
        world: World | None = None,
    ) -> None:
        """Prepare a client; nothing is connected yet. `bootstrap`: `host:port`, several with commas between. A request
        waits `request_timeout_ms` for its response; what can be tried again is, for `retry_timeout_ms`. `is_patient`:
        somebody has reached the cluster at these addresses before, so a first connection is tried for that long, too.
        `security`: see `client.security.settings.security_of`; SettingError where its files are not what they should
        be."""
        self.request_timeout_ms = request_timeout_ms
        self.retry_timeout_ms = retry_timeout_ms
        self.world = SocketWorld() if world is None else world
        self.access = access_of(security)
        self.metadata = Metadata()
        self._client_id = client_id
        self._bootstrap = parse_bootstrap(bootstrap)
        self._connections: dict[tuple[int, str], Connection] = {}
        self._is_patient = is_patient
        self._has_connected = False
        self._has_warned = False  # that the first connection fails and is tried again
        self._failures = 0  # since the last answer; picks the node that is tried next
        self._topics: dict[str, None] = {}  # the topics in use, which `refresh` asks for
        self._is_refreshing = False
        self._refresh_after_ms = 0

    @property
    def name(self) -> str:
        """The cluster as error texts name it."""
        return "cluster at " + ", ".join(node.address for node in self._bootstrap)

    def now_ms(self) -> int:
        return self.world.clock.monotonic_ms()

    # Several requests in flight

    def send(
        self,
        node_id: int,
        request: object,
        on_done: OnDone,
        *,
        lane: str = ASKING,
        timeout_ms: int | None = None,
        expects_response: bool = True,
        version_max: int | None = None,
    ) -> None:
        """Send a request. `on_done` gets the outcome from within a later `poll` (or at once, where it cannot be
        sent)."""
        timeout_ms = self.request_timeout_ms if timeout_ms is None else timeout_ms
        if node_id >= 0 and node_id not in self.metadata.nodes:  # fenced, say, since somebody named it
            text = "no broker of this id is in the metadata"
            on_done(ClientError(ErrorCode.NETWORK_EXCEPTION, f"reach broker {node_id}", self.name, text))
            return
        connection = self._connection(node_id, lane)
        connection.send(request, on_done, timeout_ms, expects_response=expects_response, version_max=version_max)

    def poll(self, timeout_ms: int) -> None:
        """Let the sockets move: wait until something arrives, `timeout_ms` at most, and hand it out."""
        self.world.wait(self._wait_ms(timeout_ms))
        self.world.network.poll()
        now_ms = self.now_ms()
        for key, connection in list(self._connections.items()):
            connection.advance(now_ms)
            if connection.is_closed and self._connections.get(key) is connection:
                del self._connections[key]

    def _wait_ms(self, timeout_ms: int) -> int:
        deadlines = [each.deadline_ms for each in self._connections.values()]
        due = min((each for each in deadlines if each is not None), default=None)
        if due is not None:
            timeout_ms = min(timeout_ms, due - self.now_ms())
        return max(0, min(timeout_ms, WAIT_MS_MAX))

    def pause(self, duration_ms: int) -> None:
        """Let time pass, and the sockets move."""
        until_ms = self.now_ms() + duration_ms
        while (left_ms := until_ms - self.now_ms()) > 0:
            self.poll(left_ms)

    def served(self, node_id: int, api_key: int) -> Versions | None:
        """Return the versions of an API that a broker serves; None where we are not connected to it."""
        found = self._connections.get((node_id, ASKING))
        return None if found is None else found.versions.get(api_key)

    def _connection(self, node_id: int, lane: str) -> Connection:
        found = self._connections.get((node_id, lane))
        if found is None or found.is_closed:
            node = self._node(node_id)
            found = self._connections[node_id, lane] = Connection(self.world, node, self._client_id, self.access)
        return found

    def _node(self, node_id: int) -> Node:
        return self._bootstrap[-1 - node_id] if node_id < 0 else self.metadata.nodes[node_id]

    # One question, one answer

    def ask(
        self,
        request: object,
        asked: str,
        *,
        node_id: int | None = None,
        failed: Callable[[Any], int] | None = None,
        timeout_ms: int | None = None,
    ) -> Any:
        """Return the response of any broker, or of the one named. `failed` finds the error code that stands for a whole
        response: after one that passes by itself the question is asked again, any other is the caller's to read."""
        deadline_ms = self.now_ms() + (self.retry_timeout_ms if timeout_ms is None else timeout_ms)
        backoff = Backoff(self.world.entropy)
        while True:
            outcome = self.ask_once(request, asked, node_id, deadline_ms - self.now_ms())
            code = outcome.code if isinstance(outcome, ClientError) else error_code(failed(outcome) if failed else 0)
            self._check_reach(outcome, deadline_ms)
            if code not in RETRIABLE or self.now_ms() >= deadline_ms:
                return _value(outcome)
            self.pause(backoff.next_ms())

    def ask_once(
        self,
        request: object,
        asked: str,
        node_id: int | None = None,
        timeout_ms: int | None = None,
        version_max: int | None = None,
    ) -> Any:
        """Return the response, or the ClientError; there is no second try. A node that the metadata do not name is an
        error. Records in a response are to be copied before the next poll."""
        if node_id is not None and node_id >= 0 and node_id not in self.metadata.nodes:
            self.refresh()
            if node_id not in self.metadata.nodes:
                return ClientError(ErrorCode.BROKER_NOT_AVAILABLE, asked, self.name, f"there is no broker {node_id}")
        outcomes: list[Any] = []
        limit_ms = self.request_timeout_ms if timeout_ms is None else min(timeout_ms, self.request_timeout_ms)
        asked_node = self.any_node() if node_id is None else node_id
        self.send(asked_node, request, outcomes.append, timeout_ms=limit_ms, version_max=version_max)
        while not outcomes:
            self.poll(WAIT_MS_MAX)
        (outcome,) = outcomes
        if isinstance(outcome, ClientError):
            outcome.asked = asked
            self._failures += 1
        else:
            self._has_connected, self._failures = True, 0
        return outcome

    def any_node(self) -> int:
        """Return a node that we are connected to; else each in turn, brokers first and then the bootstrap addresses."""
        for (node_id, lane), connection in self._connections.items():
            if lane == ASKING and connection.is_ready:
                return node_id
        nodes = [*self.metadata.nodes, *(node.id for node in self._bootstrap)]
        return nodes[self._failures % len(nodes)]

    def _check_reach(self, outcome: object, deadline_ms: int) -> None:
        """Raise CannotConnect soon where no address has ever worked: most likely they are wrong, and nobody should wait
        a minute to hear that. A patient client tries on, and says what it waits for."""
        is_out_of_reach = isinstance(outcome, ClientError) and outcome.code is ErrorCode.NETWORK_EXCEPTION
        if self._has_connected or not is_out_of_reach or self._failures < FIRST_TRIES * len(self._bootstrap):
            return
        assert isinstance(outcome, ClientError)
        left_ms = deadline_ms - self.now_ms()
        if not self._is_patient or left_ms <= 0:
            step = "is it running? `tidelog dev` starts a broker on localhost:9092"
            raise CannotConnect(outcome.code, "connect", self.name, outcome.message, step)
        if not self._has_warned:
            self._has_warned = True
            log.warning("connect (%s): %s; trying again for %g s", self.name, outcome.message, left_ms / 1000)

    # Metadata

    def refresh(self) -> None:
        """Ask for the brokers and the topics in use, and wait for the answer."""
        self.ask_metadata(self._refresh_request())

    def ask_metadata(self, request: MetadataRequest) -> None:
        response = self.ask(request, "find the brokers", failed=lambda each: each.error_code)
        self._learn(request, response)

    def refresh_soon(self) -> None:
        """Do what `refresh` does without waiting; what is known stays valid until the answer is here."""
        now_ms = self.now_ms()
        if self._is_refreshing or now_ms < self._refresh_after_ms:
            return
        self._is_refreshing, self._refresh_after_ms = True, now_ms + REFRESH_PAUSE_MS
        request = self._refresh_request()
        self.send(self.any_node(), request, lambda outcome: self._refreshed(request, outcome))

    def _refreshed(self, request: MetadataRequest, outcome: MetadataResponse | ClientError) -> None:
        self._is_refreshing = False
        if isinstance(outcome, ClientError):
            self._failures += 1
        else:
            self._learn(request, outcome)

    def _refresh_request(self) -> MetadataRequest:
        topics = [MetadataRequestTopic(name=name) for name in self._topics]
        return MetadataRequest(topics=topics, allow_auto_topic_creation=False)

    def _learn(self, request: MetadataRequest, response: MetadataResponse) -> None:
        self.metadata.update(response, is_whole=request.topics is None)

    def topic(self, name: str, *, may_create: bool = False) -> TopicMetadata:
        """Return what is known of a topic. One that is new to us is asked for, and waited for while it is being
        made."""
        found = self.metadata.topics.get(name)
        return self._find_topic(name, may_create) if found is None else found

    def has_topic(self, name: str) -> bool:
        """Tell whether a topic is there, without waiting for one that is being made: for callers that go on without
        it."""
        if name not in self.metadata.topics:
            asked = [MetadataRequestTopic(name=name)]
            self.ask_metadata(MetadataRequest(topics=asked, allow_auto_topic_creation=False))
        is_there = name in self.metadata.topics
        if is_there:
            self._topics[name] = None
        return is_there

    def _find_topic(self, name: str, may_create: bool) -> TopicMetadata:
        backoff = Backoff(self.world.entropy)
        request = MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=may_create)
        patience_ms = NEW_TOPIC_PATIENCE_MS if may_create else KNOWN_TOPIC_PATIENCE_MS
        give_up_ms = self.now_ms() + min(patience_ms, self.retry_timeout_ms)
        while True:
            self.ask_metadata(request)
            found = self.metadata.topics.get(name)
            if found is not None:
                self._topics[name] = None
                return found
            code = self.metadata.errors.get(name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            if code not in RETRIABLE or self.now_ms() >= give_up_ms:
                raise ClientError(code, f"find topic {name}", self.name)
            self.pause(backoff.next_ms())

    # The end

    def close(self) -> None:
        for connection in list(self._connections.values()):
            connection.fail(ErrorCode.NETWORK_EXCEPTION, "the client was closed")
        self._connections.clear()
        self.world.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()


def _value(outcome: Any) -> Any:
    """Return the response or raise the error; a timeout is raised as TimedOut."""
    if not isinstance(outcome, ClientError):
        return outcome
    if outcome.code is ErrorCode.REQUEST_TIMED_OUT:
        raise TimedOut(outcome.code, outcome.asked, outcome.of, outcome.message) from outcome
    raise outcome
