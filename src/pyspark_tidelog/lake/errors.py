"""What can be wrong with an archive, as opposed to the cluster or the options."""

from pyspark_tidelog.errors import TidelogError


class LakeError(TidelogError):
    """The archive can not take a batch, or is not what its manifests say."""
