"""Pipelines on Tidelog and Spark: whole jobs that one can run, read and take apart.

Importing a package of this one costs nothing: pyspark and pyarrow are imported by what uses them, when it does.
"""
