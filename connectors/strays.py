"""Documents of a connector that its state does not know: that was lost, and their items went meanwhile."""

from collections.abc import AsyncIterator, Sequence
from typing import Final

from connectors.documents import document_id, document_prefix, pages
from pipeline.store.connector_state import ConnectorState, StateKind
from schemas.events import ConnectorChanged

_KINDS: Final[tuple[StateKind, ...]] = ("item", "failed")


async def strays(
    row: ConnectorChanged, documents: Sequence[str], state: ConnectorState, kept: tuple[str, ...]
) -> AsyncIterator[str]:
    """Of a connector's documents those that no item stands for, right after a complete listing.

    `kept`: what ids begin with that could not be listed.
    """
    prefix = document_prefix(row)
    nameless: list[str] = []
    for page in pages(documents):
        items = {public.removeprefix(prefix): public for public in page}
        for kind in _KINDS:
            for found in await state.get(kind, items):
                del items[found]
        nameless += [public for item, public in items.items() if not (kept and item.startswith(kept))]
    hashed = await _hashed(row, state) if nameless else set()
    for public in nameless:
        # Of a hash nobody can say whether it could not be listed.
        if public not in hashed and not (kept and _is_hash(public.removeprefix(prefix))):
            yield public


async def _hashed(row: ConnectorChanged, state: ConnectorState) -> set[str]:
    """Documents whose ids do not say which items they are of."""
    prefix, found = document_prefix(row), set[str]()
    for kind in _KINDS:
        async for rows in state.pages(kind):
            named = ((one.id, document_id(row, one.id)) for one in rows)
            found |= {public for item, public in named if public != prefix + item}
    return found


def _is_hash(name: str) -> bool:
    return len(name) == 32 and set(name) <= set("0123456789abcdef")
