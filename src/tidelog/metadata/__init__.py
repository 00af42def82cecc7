"""What the cluster knows of itself: the records of `__cluster_metadata`, and the image that they add up to.

`draft.MetadataDraft` replays records and freezes into `image.MetadataImage`s, `snapshot_records` turns an image back
into records. Draft and image read the same way (`image.MetadataView`).
"""
