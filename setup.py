"""Build step: compile the modules that a profile has named.

The list below is the only place that names them. Where there is no C compiler, or TIDELOG_PURE=1 is set, nothing is
compiled and the same files run interpreted; `tidelog._compiled` decides at import which of the two is in use, and
notices a compiled file whose source has changed since (it reads the digests that are written here).
"""

import json
import os
import runpy
import shutil
import sys
import sysconfig
from pathlib import Path

from setuptools import setup

COMPILED = [
    "src/tidelog/records/kernels_walk.py",
    "src/tidelog/records/kernels_head.py",
    "src/tidelog/records/kernels_decode.py",
    "src/tidelog/records/kernels_encode.py",
    "src/tidelog/records/kernels_compact.py",
    "src/tidelog/records/kernels_check.py",
    "src/tidelog/storage/append/validation.py",
    "src/tidelog/storage/append/outcome.py",
    "src/tidelog/storage/append/rules.py",
    "src/tidelog/storage/segment/kernels_scan.py",
    "src/tidelog/storage/segment/index_file.py",
    "src/tidelog/storage/segment/offset_index.py",
    "src/tidelog/storage/segment/time_index.py",
    "src/tidelog/storage/segment/transaction_index.py",
    "src/tidelog/storage/segment/indexes.py",
    "src/tidelog/storage/segment/facts.py",
    "src/tidelog/storage/segment/files.py",
    "src/tidelog/storage/segment/log_file.py",
    "src/tidelog/storage/segment/segment.py",
    "src/tidelog/storage/log/segments.py",
    "src/tidelog/storage/log/read_positions.py",
    "src/tidelog/storage/segment/descriptors.py",
    "src/tidelog/storage/producers/verification.py",
    "src/tidelog/storage/producers/entry.py",
    "src/tidelog/storage/producers/append.py",
    "src/tidelog/storage/producers/state.py",
    "src/tidelog/storage/producers/snapshot.py",
    "src/tidelog/storage/log/group_commit.py",
    "src/tidelog/storage/log/leader_epochs.py",
    "src/tidelog/storage/log/flush.py",
    "src/tidelog/storage/log/flush_queue.py",
    "src/tidelog/storage/log/flushes.py",
    "src/tidelog/storage/segment/deleted_segments.py",
    "src/tidelog/storage/log/log.py",
    "src/tidelog/protocol/framing.py",
    "src/tidelog/protocol/response_order.py",
    "src/tidelog/protocol/server_connection.py",
    "src/tidelog/server/hosting/partition.py",
    "src/tidelog/server/requests/connection.py",
    "src/tidelog/server/requests/request_metrics.py",
    "src/tidelog/server/requests/turn_times.py",
    "src/tidelog/server/requests/watchers.py",
    "src/tidelog/server/requests/purgatory.py",
    "src/tidelog/server/requests/turn.py",
    "src/tidelog/server/produce/quick_path.py",
    "src/tidelog/server/coordination/quick_commit.py",
    "src/tidelog/server/requests/handler.py",
    "src/tidelog/server/coordination/batch_bytes.py",
    "src/tidelog/server/coordination/batches.py",
    "src/tidelog/server/coordination/coordinator_log.py",
    "src/tidelog/server/coordination/running_coordinator.py",
    "src/tidelog/server/replicated.py",
    "src/tidelog/server/coordination/family.py",
    "src/tidelog/server/coordination/coordinators.py",
    "src/tidelog/server/fetch/partition_read.py",
    "src/tidelog/server/fetch/quick_path.py",
    "src/tidelog/server/fetch/session.py",
    "src/tidelog/server/fetch/sessions.py",
    "src/tidelog/server/fetch/answer.py",
    "src/tidelog/server/fetch/frame.py",
    "src/tidelog/server/fetch/repeated_fetch.py",
    "src/tidelog/server/fetch/delayed_fetch.py",
    "src/tidelog/server/handlers/fetch.py",
    "src/tidelog/storage/segment/search.py",
    "src/tidelog/storage/segment/time_search.py",
    "src/tidelog/storage/log/reading.py",
    "src/tidelog/io/sending.py",
    "src/tidelog/io/clock.py",
    "src/tidelog/io/pollers.py",
    "src/tidelog/io/reactor.py",
    "src/tidelog/client/producer/kernels_murmur2.py",
    "src/tidelog/client/fetch/kernels_rows.py",
    "src/tidelog/coordinator/timers.py",
    "src/tidelog/coordinator/group/assignors/holdings.py",
    "src/tidelog/coordinator/group/assignors/uniform_equal.py",
    "src/tidelog/coordinator/group/offset_bytes.py",
    "src/tidelog/coordinator/group/offsets/offset_and_metadata.py",
    "src/tidelog/coordinator/group/offsets/loading.py",
    "src/tidelog/coordinator/group/offsets/offsets.py",
    "src/tidelog/coordinator/group/offsets/commit_request.py",
    "src/tidelog/coordinator/group/offsets/records.py",
    "src/tidelog/coordinator/group/offsets/commit.py",
]
MANIFEST = Path("src/tidelog/_compiled.json")


def has_compiler() -> bool:
    compiler = os.environ.get("CC") or str(sysconfig.get_config_var("CC") or "cc")
    return shutil.which(compiler.split()[0]) is not None


def write_manifest(sources: list[str]) -> None:
    digest_of = runpy.run_path("src/tidelog/_compiled.py")["digest_of"]
    digests = {
        source.removeprefix("src/").removesuffix(".py").replace("/", "."): digest_of(Path(source).read_bytes())
        for source in sources
    }
    MANIFEST.write_text(json.dumps(digests, indent=2) + "\n")


def groups_of(sources: list[str]) -> list[tuple[list[str], str | None]]:
    """One shared library, and one C file, for the packages that every request crosses, and one for what lies below
    them: a compiler takes minutes for each. Calls within a library are direct and may be inlined; from one to the other
    they go through a table, so the border is where there are few a request."""
    above = ("src/tidelog/io/", "src/tidelog/protocol/", "src/tidelog/server/")
    upper = [source for source in sources if source.startswith(above)]
    return [(upper, "tidelog_server"), ([source for source in sources if source not in upper], "tidelog_storage")]


if os.environ.get("TIDELOG_PURE") == "1" or not has_compiler():
    print("tidelog: no C compiler (or TIDELOG_PURE=1): every module will run interpreted")
    write_manifest([])
    setup()
else:
    from mypyc.build import mypycify

    # Named, so that a build leaves these shared libraries and not more for each list of modules it ever had.
    extensions = mypycify(["--strict", *COMPILED], opt_level="3", separate=groups_of(COMPILED))
    for extension in extensions:
        extension.optional = True  # a compiler without Python's headers must not keep anyone from installing
        if sys.platform == "linux":
            # Lets calls between these modules be inlined although they live in a shared library: encode gains a sixth.
            extension.extra_compile_args.append("-fno-semantic-interposition")
    write_manifest(COMPILED)
    setup(ext_modules=extensions, options={"build_ext": {"parallel": os.cpu_count()}})
