"""The durable store: LanceDB tables with one writer each, behind `pipeline.ports`."""

from pipeline.store.lancedb.store_properties import StoreMismatchError
from pipeline.store.multi_process.row_overlay import LoggedChange
from pipeline.store.multi_process.shared_table import SharedTable
from pipeline.store.store import Store
from pipeline.store.store_factory import open_locks, open_store
from pipeline.store.tables.chunk_table import ShardedChunkTable
from pipeline.store.tables.document_table import ShardedDocumentTable
from pipeline.store.tables.keyed_tables import ANSWER_RETENTION, AnswerRepository, RowRepository
from pipeline.store.tables.memory_table import ShardedMemoryTable
from pipeline.store.tables.settings_catalog import SettingsCatalog
from pipeline.store.tables.table_pagination import Page

__all__ = [
    "ANSWER_RETENTION",
    "AnswerRepository",
    "LoggedChange",
    "Page",
    "RowRepository",
    "SettingsCatalog",
    "ShardedChunkTable",
    "ShardedDocumentTable",
    "ShardedMemoryTable",
    "SharedTable",
    "Store",
    "StoreMismatchError",
    "open_locks",
    "open_store",
]
