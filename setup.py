"""Build step: compile the modules that a profile has named.

The list below is the only place that names them. Where there is no C compiler, or TIDELOG_PURE=1 is set, nothing is
compiled and the same files run interpreted; `tidelog._compiled` decides at import which of the two is in use, and
notices a compiled file whose source has changed since (it reads the hashes that are written here).
"""

import hashlib
import json
import os
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
    "src/tidelog/storage/validation.py",
    "src/tidelog/storage/appended.py",
    "src/tidelog/storage/append_rules.py",
    "src/tidelog/storage/kernels_scan.py",
    "src/tidelog/storage/index_file.py",
    "src/tidelog/storage/offset_index.py",
    "src/tidelog/storage/time_index.py",
    "src/tidelog/storage/transaction_index.py",
    "src/tidelog/storage/segment_indexes.py",
    "src/tidelog/storage/segment_facts.py",
    "src/tidelog/storage/segment_files.py",
    "src/tidelog/storage/segment_log.py",
    "src/tidelog/storage/segment.py",
    "src/tidelog/storage/log_segments.py",
    "src/tidelog/storage/descriptors.py",
    "src/tidelog/storage/producer_verification.py",
    "src/tidelog/storage/producer_entry.py",
    "src/tidelog/storage/producer_append.py",
    "src/tidelog/storage/producer_state.py",
    "src/tidelog/storage/producer_snapshot.py",
    "src/tidelog/storage/log_append.py",
    "src/tidelog/storage/leader_epochs.py",
    "src/tidelog/storage/flush.py",
    "src/tidelog/storage/log.py",
    "src/tidelog/protocol/framing.py",
    "src/tidelog/protocol/response_order.py",
    "src/tidelog/protocol/server_connection.py",
    "src/tidelog/server/partition.py",
    "src/tidelog/server/connection.py",
    "src/tidelog/server/request_metrics.py",
    "src/tidelog/server/metrics_turns.py",
    "src/tidelog/server/turn.py",
    "src/tidelog/server/produce_path.py",
    "src/tidelog/server/commit_path.py",
    "src/tidelog/server/handling.py",
    "src/tidelog/server/coordinator_bytes.py",
    "src/tidelog/server/coordinator_batches.py",
    "src/tidelog/server/coordinator_log.py",
    "src/tidelog/server/replicated.py",
    "src/tidelog/server/coordinator_family.py",
    "src/tidelog/server/coordinators.py",
    "src/tidelog/server/fetch_read.py",
    "src/tidelog/server/fetch_sessions.py",
    "src/tidelog/server/handlers/fetch.py",
    "src/tidelog/storage/segment_search.py",
    "src/tidelog/storage/log_read.py",
    "src/tidelog/io/sending.py",
    "src/tidelog/io/reactor.py",
    "src/tidelog/client/kernels_murmur2.py",
    "src/tidelog/client/kernels_rows.py",
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
    hashes = {
        source.removeprefix("src/").removesuffix(".py").replace("/", "."): hashlib.sha256(
            Path(source).read_bytes()
        ).hexdigest()
        for source in sources
    }
    MANIFEST.write_text(json.dumps(hashes, indent=2) + "\n")


if os.environ.get("TIDELOG_PURE") == "1" or not has_compiler():
    print("tidelog: no C compiler (or TIDELOG_PURE=1): the record kernels will run interpreted")
    write_manifest([])
    setup()
else:
    from mypyc.build import mypycify

    # Named, so that a build leaves one shared library and not one more for each list of modules it ever had.
    extensions = mypycify(["--strict", *COMPILED], opt_level="3", group_name="tidelog")
    for extension in extensions:
        extension.optional = True  # a compiler without Python's headers must not keep anyone from installing
        if sys.platform == "linux":
            # Lets calls between the kernels be inlined although they live in a shared library: encode gains a sixth.
            extension.extra_compile_args.append("-fno-semantic-interposition")
    write_manifest(COMPILED)
    setup(ext_modules=extensions)
