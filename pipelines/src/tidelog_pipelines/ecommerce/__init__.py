"""E-commerce analytics on a stream of what shoppers do: total sales, the most viewed products, dead letters, archive.

`python -m tidelog_pipelines.ecommerce --bootstrap-server localhost:9092 --checkpoint DIRECTORY` runs it;
docs/pipelines.md says what it computes and how to change it. What is computed is in pure functions (of DataFrames:
parse, bots, repeats, windows, sales, views, results); job and queries only wire them up.
"""
