"""`tidelog format`: prepares the log directories of a new node; the flags are kafka-storage's.

`server/node/formatting.py` does the work; this reads the node's configuration and says what was done.
"""

import argparse
import json
from typing import TYPE_CHECKING, Any

from tidelog.cli.arguments.parsers import add_command, pair
from tidelog.cli.failing import CommandFailed, WrongUsage, warn
from tidelog.cli.node.server_properties import read_config
from tidelog.config import BrokerConfig
from tidelog.config.settings import node as node_settings
from tidelog.config.settings import quorum as quorum_settings
from tidelog.io.clock import SystemClock
from tidelog.io.entropy import SystemEntropy
from tidelog.io.files import PosixFileSystem
from tidelog.metadata.feature_levels import METADATA_VERSION, METADATA_VERSION_NAMES
from tidelog.model.ids import NodeId
from tidelog.raft.voters import VoterEndpoint
from tidelog.server.node.files import controller_listener, metadata_directory
from tidelog.server.node.formatting import FormatError, FormatReport, FormatRequest, format_log_dirs

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

DESCRIPTION = """\
Prepare the log directories that a server.properties names: each is marked as this node's and this cluster's, and gets
the records that a new cluster begins with. A directory that is formatted already is never touched.
"""
EXAMPLES = """\
  tidelog format -t "$(tidelog random-uuid)" -c server.properties --standalone
  tidelog format -t 4L6g3nShT-eMCtK--X86sw -c server.properties --ignore-formatted
"""


def add_parser(commands: "Commands") -> None:
    parser = add_command(
        commands, "format", "prepare the log directories of a new node", description=DESCRIPTION, examples=EXAMPLES
    )
    parser.add_argument(
        "-t", "--cluster-id", required=True, metavar="ID", help="the cluster's id, the same on all nodes"
    )
    parser.add_argument("-c", "--config", required=True, metavar="FILE", help="the node's server.properties")
    parser.add_argument("-g", "--ignore-formatted", action="store_true", help="pass over what is formatted already")
    parser.add_argument(
        "-r", "--release-version", metavar="VERSION", help="begin with the features of this release, such as 4.3"
    )
    parser.add_argument(
        "-f",
        "--feature",
        metavar="NAME=LEVEL",
        type=_feature,
        action="append",
        default=[],
        help="begin with this level of a feature",
    )
    quorum = parser.add_mutually_exclusive_group()
    quorum.add_argument(
        "-s", "--standalone", action="store_true", help="this controller is the only voter, and others may join it"
    )
    quorum.add_argument(
        "-I",
        "--initial-controllers",
        metavar="ID@HOST:PORT:DIRECTORY,...",
        help="these are the first voters; say the same on each of them",
    )
    quorum.add_argument(
        "-N",
        "--no-initial-controllers",
        action="store_true",
        help="this node is none of the first voters, and may join them",
    )
    parser.set_defaults(run=run)


def _feature(text: str) -> tuple[str, int]:
    name, level = pair(text)
    if not level.isdigit():
        raise argparse.ArgumentTypeError(f"the level of {name} is a number, not {level!r}")
    return name, int(level)


def run(options: argparse.Namespace) -> int:
    config = read_config(options.config, {})
    _refuse_unserved(config, options)
    request = _request(config, options)
    fs = PosixFileSystem()
    try:
        report = format_log_dirs(fs, SystemEntropy(), request, SystemClock().wall_ms())
    except FormatError as error:
        raise CommandFailed(str(error)) from error
    finally:
        fs.close()
    for reason in report.unreadable:
        warn(f"not formatted: {reason}")
    _show(report, request, options)
    return 0


def _refuse_unserved(config: BrokerConfig, options: argparse.Namespace) -> None:
    """Refuse what `tidelog start` would refuse, before a directory is marked for good."""
    voters: tuple[str, ...] = config.get(quorum_settings.CONTROLLER_QUORUM_VOTERS)
    dynamic = [each for each in (options.initial_controllers or "").split(",") if each.strip()]
    if len(voters) > 1:
        node_id = config.get(node_settings.NODE_ID)
        own = next((each for each in voters if each.partition("@")[0].strip() == str(node_id)), f"{node_id}@HOST:PORT")
        named, step = f"controller.quorum.voters names {len(voters)}", f"set controller.quorum.voters={own}"
    elif len(dynamic) > 1:
        named, step = f"--initial-controllers names {len(dynamic)}", "format with --standalone"
    elif options.no_initial_controllers and not voters:
        named, step = "--no-initial-controllers leaves it to other", "format with --standalone"
    else:
        return
    raise WrongUsage(f"{named} voters, but a node is its own only voter yet, and `tidelog start` would refuse; {step}")


def _request(config: BrokerConfig, options: argparse.Namespace) -> FormatRequest:
    metadata_log_dir = metadata_directory(config)
    return FormatRequest(
        cluster_id=options.cluster_id,
        node_id=NodeId(config.get(node_settings.NODE_ID)),
        log_dirs=list(dict.fromkeys([*config.log_dirs, metadata_log_dir])),
        metadata_log_dir=metadata_log_dir,
        is_controller=config.listener_plan.is_controller,
        has_static_voters=bool(config.get(quorum_settings.CONTROLLER_QUORUM_VOTERS)),
        controller_endpoint=_controller_endpoint(config),
        ignore_formatted=options.ignore_formatted,
        release_version=options.release_version,
        features=dict(options.feature),
        standalone=options.standalone,
        initial_controllers=options.initial_controllers,
        no_initial_controllers=options.no_initial_controllers,
    )


def _controller_endpoint(config: BrokerConfig) -> VoterEndpoint:
    """Return the address at which other nodes find this node's controller, as the file says it."""
    plan, name = config.listener_plan, controller_listener(config)
    for listener in (*(plan.advertised or ()), *plan.listeners):
        if listener.name == name:
            return VoterEndpoint(name, listener.host or "localhost", listener.port)
    return VoterEndpoint(name, "localhost", 0)


def _show(report: FormatReport, request: FormatRequest, options: argparse.Namespace) -> None:
    if options.json:
        print(json.dumps(_plain(report, request)))
        return
    version = METADATA_VERSION_NAMES[report.levels[METADATA_VERSION]]
    for path in report.formatted:
        print(
            f"formatted {path} for node {request.node_id} of cluster {request.cluster_id}, {METADATA_VERSION} {version}"
        )
    for path in report.already_formatted:
        print(f"left alone {path}, which is formatted already")


def _plain(report: FormatReport, request: FormatRequest) -> dict[str, Any]:
    return {
        "cluster_id": request.cluster_id,
        "node_id": request.node_id,
        "formatted": report.formatted,
        "already_formatted": report.already_formatted,
        "unreadable": report.unreadable,
        "features": report.levels,
    }
