"""Why metadata records were refused. A node that meets one of these stops: to skip a record would be to disagree with
the rest of the cluster from there on.
"""


class MetadataError(Exception):
    """The base of the errors below."""


class UnplayableRecord(MetadataError):
    """A record of a kind that has no meaning here."""

    def __init__(self, message: object) -> None:
        super().__init__(f"{type(message).__name__} is no record of the metadata log")


class InconsistentRecord(MetadataError):
    """A record that does not fit what came before it: the log is damaged, or one of us has a bug."""

    def __init__(self, message: object, reason: str) -> None:
        super().__init__(f"{type(message).__name__}: {reason}")


class UnreadableMetadata(MetadataError):
    """A record of the metadata log, or of a snapshot of it, that this node can not take over."""

    def __init__(self, directory: str, where: str, reason: object) -> None:
        super().__init__(
            f"{directory}: {where} can not be taken over: {reason}. To pass it over would be to disagree with the rest "
            f"of the cluster, so the node stops. Look at it with `tidelog log dump {directory}`; a newer release may "
            "be able to read it. Otherwise put back a copy of the directory, or, where other voters have it, format"
        )


class UnknownFeatureLevel(MetadataError):
    """A metadata.version that this release does not know: a newer one, or one from before Kafka 3.3."""

    def __init__(self, name: str, level: int, known: str) -> None:
        super().__init__(f"{name} {level} is not known to this release, which knows {known}")
        self.name = name
        self.level = level


class UnwritableMetadata(MetadataError):
    """Something that the records of the current metadata.version have no field for."""

    def __init__(self, metadata_version: int, loss: str) -> None:
        super().__init__(f"the records of metadata.version {metadata_version} can not hold {loss}")
