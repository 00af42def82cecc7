"""`tidelog spark-shell`, `spark-submit` and `demo`: programs of the Spark side, started in the right environment."""
