"""Detection of a connector's documents without an item, left behind when its state was lost."""

from collections.abc import AsyncIterator, Sequence
from typing import Final

from connectors.sync.item_submission import document_id, document_id_prefix, paginate
from pipeline.store.tables.connector_state_table import ConnectorStateTable, StateKind
from schemas.events import ConnectorChanged

_KINDS: Final[tuple[StateKind, ...]] = ("item", "failed")


async def find_orphaned_documents(
    row: ConnectorChanged, document_ids: Sequence[str], state: ConnectorStateTable, unlistable_prefixes: tuple[str, ...]
) -> AsyncIterator[str]:
    """Yield documents that belong to no item, to be called right after a complete listing.

    Items with one of `unlistable_prefixes` could not be listed, so their documents are kept.
    """
    prefix = document_id_prefix(row)
    unmatched: list[str] = []
    for page in paginate(document_ids):
        items = {public.removeprefix(prefix): public for public in page}
        for kind in _KINDS:
            for found in await state.get(kind, items):
                del items[found]
        unmatched += [
            public
            for item, public in items.items()
            if not (unlistable_prefixes and item.startswith(unlistable_prefixes))
        ]
    hashed = await _hashed_document_ids(row, state) if unmatched else set()
    for public in unmatched:
        # A hashed id does not tell whether its item could be listed.
        if public not in hashed and not (unlistable_prefixes and _is_hash(public.removeprefix(prefix))):
            yield public


async def _hashed_document_ids(row: ConnectorChanged, state: ConnectorStateTable) -> set[str]:
    """Return the ids of documents whose item id was replaced by a hash."""
    prefix, found = document_id_prefix(row), set[str]()
    for kind in _KINDS:
        async for rows in state.iterate_pages(kind):
            pairs = ((item.id, document_id(row, item.id)) for item in rows)
            found |= {public for item, public in pairs if public != prefix + item}
    return found


def _is_hash(name: str) -> bool:
    return len(name) == 32 and set(name) <= set("0123456789abcdef")
