"""The durable store: LanceDB tables with one writer each, behind `pipeline.ports`."""

from pipeline.store.lean import spare_catalog_client

spare_catalog_client()  # before anything imports lancedb

from pipeline.store.catalog import Catalog  # noqa: E402 - see above
from pipeline.store.chunks import Chunks  # noqa: E402
from pipeline.store.documents import Documents  # noqa: E402
from pipeline.store.memories import Memories  # noqa: E402
from pipeline.store.meta import StoreMismatchError  # noqa: E402
from pipeline.store.opening import Store, open_locks, open_store  # noqa: E402
from pipeline.store.operations import Operations  # noqa: E402
from pipeline.store.pages import Page  # noqa: E402

__all__ = [
    "Catalog",
    "Chunks",
    "Documents",
    "Memories",
    "Operations",
    "Page",
    "Store",
    "StoreMismatchError",
    "open_locks",
    "open_store",
]
