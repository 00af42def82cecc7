"""This broker's place in its cluster: registration and heartbeats, the addresses that clients are told, internal
topics.
"""
