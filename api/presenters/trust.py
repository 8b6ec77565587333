"""Trust of results, in their metadata: whether they are the user's own words, and who said them."""

from collections.abc import Mapping
from typing import Any

from pipeline.memory.formation.document_voice import is_synced, may_be_users
from pipeline.rows import MemoryRow

OF_OTHERS: Mapping[str, str] = {"trust": "others"}
"""Metadata of what a file, a page, a mail, a connector's document or a text about things says."""


def own_words(is_own: bool) -> Mapping[str, str]:
    """Return the trust of a memory; empty for the user's own words."""
    return {} if is_own else OF_OTHERS


def passage_trust(document_type: str, metadata: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the trust of a passage, by the kind of its document; empty if it may be the user's own words."""
    return own_words(may_be_users(document_type, is_synced=is_synced(metadata)))


def memory_trust(row: MemoryRow) -> Mapping[str, str]:
    """Return the trust of a memory, and who says it in the first source that names a speaker."""
    speaker = next((entry.said_by for entry in row.provenance if entry.said_by is not None), None)
    return {**own_words(row.in_profile), **({} if speaker is None else {"saidBy": speaker})}
