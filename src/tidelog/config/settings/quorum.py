"""Controller quorum.

The KRaft voters that agree on the cluster's metadata.
"""

from tidelog.config import forms, unserved
from tidelog.config.kinds import BOOLEAN, INT, LIST, LONG, STRING
from tidelog.config.setting import Importance, required, setting
from tidelog.config.table import table
from tidelog.config.units import MIB, MINUTE_MS, SECOND_MS
from tidelog.config.validators import at_least, entries

CONTROLLER_QUORUM_VOTERS = setting(
    "controller.quorum.voters",
    LIST,
    (),
    "The fixed set of voters as `id@host:port`. Leave empty when voters are added and "
    "removed at run time, and set `controller.quorum.bootstrap.servers` instead.",
    validator=forms.VOTERS,
    importance=Importance.HIGH,
)

CONTROLLER_QUORUM_BOOTSTRAP_SERVERS = setting(
    "controller.quorum.bootstrap.servers",
    LIST,
    (),
    "Controllers to ask who the voters are, as `host:port`.",
    validator=forms.BOOTSTRAP_SERVERS,
    importance=Importance.HIGH,
)

CONTROLLER_LISTENER_NAMES = required(
    "controller.listener.names",
    LIST,
    "The listeners that controllers use. A controller must list them in `listeners` too; a "
    "broker without the controller role must not, and connects to the first one.",
    validator=entries(empty=False),
    importance=Importance.HIGH,
)

CONTROLLER_QUORUM_AUTO_JOIN_ENABLE = setting(
    "controller.quorum.auto.join.enable",
    BOOLEAN,
    False,
    "A controller that is not a voter adds itself to the voters at start. Needs a quorum with dynamic voters.",
    importance=Importance.LOW,
    refused=unserved.NO_JOINING,
)

CONTROLLER_QUORUM_ELECTION_TIMEOUT_MS = setting(
    "controller.quorum.election.timeout.ms",
    INT,
    SECOND_MS,
    "How long a candidate waits for votes before it tries a new election.",
    validator=at_least(0),
    importance=Importance.HIGH,
)

OTHER_VOTERS = table(
    setting("controller.quorum.election.backoff.max.ms", INT, SECOND_MS,
            "The longest random wait before another election after a failed one, so that candidates do not collide "
            "for ever.", validator=at_least(0), importance=Importance.HIGH),
    setting("controller.quorum.fetch.timeout.ms", INT, 2 * SECOND_MS,
            "A voter that could not fetch from the leader for this long stands for election; a leader that has not "
            "been fetched from by a majority for this long resigns.",
            validator=at_least(0), importance=Importance.HIGH),
    setting("controller.quorum.fetch.max.bytes", INT, MIB,
            "The most bytes of metadata log that one Fetch asks for.",
            validator=at_least(1), importance=Importance.LOW),
    setting("controller.quorum.fetch.snapshot.max.bytes", INT, MIB,
            "The most bytes of a metadata snapshot that one FetchSnapshot asks for.",
            validator=at_least(1), importance=Importance.LOW),
    setting("controller.quorum.append.linger.ms", INT, 25,
            "How long the leader gathers metadata records before it writes them as one batch.", validator=at_least(0)),
    setting("controller.quorum.request.timeout.ms", INT, 2 * SECOND_MS,
            "How long a request between quorum members may take before it is tried again.", validator=at_least(0)),
    setting("controller.quorum.retry.backoff.ms", INT, 20,
            "The pause before a failed request between quorum members is tried again.",
            validator=at_least(0), importance=Importance.LOW),
    setting("controller.socket.timeout.ms", INT, 30 * SECOND_MS,
            "How long a request from a broker to the controller may take."),
    harmless=unserved.OF_A_QUORUM,
)  # fmt: skip

CONTROLLER_LOGIN = table(
    setting("sasl.mechanism.controller.protocol", STRING, "GSSAPI",
            "The SASL mechanism by which nodes log in to controllers.", importance=Importance.HIGH),
    refused=unserved.NO_SASL,
)  # fmt: skip

CONTROLLER_PERFORMANCE = table(
    setting("controller.performance.sample.period.ms", LONG, MINUTE_MS,
            "The period over which the controller samples how long its events take.", validator=at_least(100)),
    setting("controller.performance.always.log.threshold.ms", LONG, 2 * SECOND_MS,
            "A controller event that takes longer than this is always logged.", validator=at_least(0)),
    internal=True,
    harmless=unserved.OF_JAVA_METRICS,
)  # fmt: skip
