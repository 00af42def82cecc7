"""The partitions that this broker hosts, made to follow the metadata: their logs, directories, and strays."""
