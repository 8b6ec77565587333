"""Memories of texts as the service forms them by default: by rules, and of short messages by what they mean."""

from collections.abc import Sequence
from datetime import UTC, date, datetime

from pipeline.memory.formation.document_memory_builder import ExtractionJob
from pipeline.memory.formation.fact_extractor import ExtractionDelay, RuleBasedExtractor
from pipeline.memory.languages.short_messages import ShortMessages
from pipeline.models import open_embedder
from pipeline.rows import NamespaceRow


async def formed_memories(texts: Sequence[str], said_on: date, *, is_synced: bool = False) -> list[list[str]]:
    """Return the texts of the memories of each document."""
    at = datetime(said_on.year, said_on.month, said_on.day, tzinfo=UTC)
    jobs = [
        ExtractionJob("bench#0", text, 1, at, text, date=said_on.isoformat(), is_synced=is_synced) for text in texts
    ]
    extractor = RuleBasedExtractor(short_messages=ShortMessages(open_embedder("e5-encoder")))
    found = await extractor.extract(NamespaceRow("bench", 0, ("bench#0",), at, at), jobs)
    return [[fact.text for fact in facts] for facts in found if not isinstance(facts, ExtractionDelay)]
