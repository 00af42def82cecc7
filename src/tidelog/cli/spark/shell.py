"""`tidelog spark-shell`: PySpark's shell, with `spark.read.format("tidelog")` at hand."""

import argparse
from typing import TYPE_CHECKING

from tidelog.cli.arguments.parsers import add_command
from tidelog.cli.spark import environment as spark

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

DESCRIPTION = """\
PySpark's shell, in the right environment: the PySpark and the Python that belong to this command, and settings that
pay. In it, spark.read.format("tidelog") and spark.readStream.format("tidelog") are there without a jar.
"""
EXAMPLES = """\
  tidelog spark-shell                                    on all cores of this machine
  tidelog spark-shell --master 'local[2]' --driver-memory 2g
  tidelog spark-shell --conf spark.sql.shuffle.partitions=8
  tidelog spark-shell -- --verbose                       any other option of `pyspark`
"""


def add_parser(commands: "Commands") -> None:
    help_text = "PySpark's shell, ready to read and write topics"
    parser = add_command(commands, "spark-shell", help_text, description=DESCRIPTION, examples=EXAMPLES, has_json=False)
    spark.add_options(parser)
    parser.add_argument("arguments", nargs="*", metavar="ARGUMENT", help="given to `pyspark` as they are, after `--`")
    parser.set_defaults(run=lambda options: spark.run("pyspark", options, options.arguments))
