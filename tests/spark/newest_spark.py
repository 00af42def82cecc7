"""Run by test_newest_spark.py, in an environment of its own: programs of the guide that read, write, and use
foreachBatch, one after the other in one session, with the Python that this is and none that is on the path.

    python -m tests.spark.newest_spark <bootstrap> <prefix of topics> <scratch> <packages that the driver alone has>
"""

import json
import sys
from importlib.util import find_spec


def main(bootstrap: str, prefix: str, scratch: str, packages: str) -> None:
    sys.path.append(packages)  # workers are not told
    import pyspark
    from examples.spark import read_batch, several_topics, stream_to_topic
    from pyspark.sql import SparkSession

    server = ["--bootstrap-server", bootstrap]
    read_batch.main([*server, "--topic", f"{prefix}payments"])
    copying = ["--source", f"{prefix}payments", "--target", f"{prefix}copied", "--checkpoint", f"{scratch}/copied"]
    stream_to_topic.main([*server, *copying, "--available-now"])
    sorting = ["--source", f"{prefix}payments", "--checkpoint", f"{scratch}/sorted", "--lake", f"{scratch}/lake"]
    several_topics.main([*server, *sorting, "--available-now"])
    context = SparkSession.builder.getOrCreate().sparkContext
    has_pandas = context.parallelize([0], 1).map(lambda _: find_spec("pandas") is not None).collect()
    print("RAN", json.dumps({"pyspark": pyspark.__version__, "workers have pandas": has_pandas}))


if __name__ == "__main__":
    main(*sys.argv[1:])
