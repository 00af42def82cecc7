"""What the data path counts for one topic: plain attributes, because they are added to at every request."""


class TopicMetrics:
    """The counters of one topic on this broker, since its start."""

    __slots__ = (
        "bytes_in",
        "bytes_out",
        "failed_fetches",
        "failed_produces",
        "fetches",
        "messages_in",
        "produces",
        "topic",
    )

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self.bytes_in = 0
        self.bytes_out = 0
        self.messages_in = 0
        self.produces = 0
        self.fetches = 0
        self.failed_produces = 0
        self.failed_fetches = 0
