"""The errors of an archive, as opposed to those of the cluster or the options."""

from pyspark_tidelog.errors import TidelogError


class LakeError(TidelogError):
    """The archive cannot take a batch, or does not agree with its manifests."""
