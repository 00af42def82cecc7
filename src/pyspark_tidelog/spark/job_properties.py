"""The names of the local properties that Spark gives to the jobs of a streaming query, and their tasks can read."""

from typing import Final

QUERY_ID: Final = "sql.streaming.queryId"  # the id in the checkpoint, the same over restarts
BATCH_ID: Final = "streaming.sql.batchId"
CHECKPOINTS: Final = "spark.sql.streaming.checkpointLocation"  # the directory for queries with a name and no option
RUN_ID: Final = "spark.jobGroup.id"  # Spark groups a query's jobs by its run id, which is new with each start
