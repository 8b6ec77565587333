"""Opening of the blob store that a URI names."""

from collections.abc import Mapping
from pathlib import Path

from pipeline.ports import ContentKeys
from pipeline.store.blobs.blob_store import ContentAddressedBlobs, FolderBlobs


async def open_blobs(
    uri: str, storage: Mapping[str, str] | None = None, keys: ContentKeys | None = None
) -> ContentAddressedBlobs:
    """Open blobs in a folder, or at an object store (s3://, gs://, az://) with its options; `keys` seal them."""
    if "://" in uri:
        # A process with its blobs in a folder does not load an object store's client.
        from pipeline.store.blobs.object_store_blobs import ObjectStoreBlobs  # noqa: PLC0415 - see above
        from pipeline.store.blobs.object_store_client import open_object_store  # noqa: PLC0415 - see above

        return ObjectStoreBlobs(open_object_store(uri, storage), uri, keys)
    blobs = FolderBlobs(Path(uri), keys)
    await blobs.delete_stray_files()
    return blobs
