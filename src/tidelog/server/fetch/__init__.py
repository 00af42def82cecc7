"""Fetch requests from arrival to answer: sessions, waiting, reading a partition, and two quick paths for requests that
repeat the one before.
"""
