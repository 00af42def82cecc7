"""The messages of Kafka 4.3, a module an API: each holds the request, the response and the structs of both.

`registry` finds them by API key. The modules are the source: what a field is called, which versions have it and what
stands for it elsewhere is written here and nowhere else, and `tests/wire` compares all of it with Kafka's own bytes.
"""
