"""`tidelog spark-submit`: a PySpark job, in the environment that it needs."""

import argparse
from typing import TYPE_CHECKING

from tidelog.cli.arguments.parsers import add_command
from tidelog.cli.spark import environment as spark

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

DESCRIPTION = """\
Run a PySpark job, in the right environment: the PySpark and the Python that belong to this command, and settings that
pay. On a cluster, the machines of the executors need Tidelog too: pip install 'tidelog[spark]'; where their Python has
another path, --conf spark.pyspark.python=PATH says so.
"""
EXAMPLES = """\
  tidelog spark-submit job.py --topic purchases
  tidelog spark-submit --master spark://cluster:7077 --executor-memory 4g job.py
  tidelog spark-submit --dry-run job.py                  what would be run
  tidelog spark-submit -- --verbose job.py               any other option of `spark-submit`
"""


def add_parser(commands: "Commands") -> None:
    help_text = "run a PySpark job that reads and writes topics"
    parser = add_command(
        commands, "spark-submit", help_text, description=DESCRIPTION, examples=EXAMPLES, has_json=False
    )
    spark.add_options(parser)
    parser.add_argument("job", metavar="JOB", help="a Python file")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARGUMENTS", help="for the job, as they are")
    parser.set_defaults(run=lambda options: spark.run("spark-submit", options, [options.job, *options.arguments]))
