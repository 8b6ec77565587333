"""A log as a service would have written it, made at once: for measuring what grows with it."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from app.resources import SystemClock
from bench.text_generator import TextGenerator
from pipeline.bus.sqlite.bus import SqliteBus
from pipeline.ports import Position
from pipeline.stage import Record, Stage
from schemas.events import (
    Content,
    DocumentExtracted,
    DocumentSubmitted,
    NamespaceChanged,
    SettingsChanged,
)
from schemas.ids import document_key, incarnation_key
from schemas.topics import DOCUMENTS_EXTRACTED, DOCUMENTS_SUBMITTED, SETTINGS_CHANGED, Topic

PARTITIONS = 4
BATCH_DOCUMENTS = 2000
TEXTS = 20_000
"""Texts are written once and used again with a number of their own: writing a million takes longer than
reading them. A namespace has each of them once before it has one twice."""

_READERS: tuple[tuple[str, Topic[Any]], ...] = (
    ("extract", DOCUMENTS_SUBMITTED),
    ("chunk", DOCUMENTS_EXTRACTED),
    ("form_memories", DOCUMENTS_EXTRACTED),
)


def namespace(number: int) -> str:
    """The name of a namespace."""
    return f"scale-{number}"


async def write(folder: Path, documents: int, namespaces: int, characters: int, seed: int = 7) -> None:
    """Submitted and extracted texts of so many documents, in turn over the namespaces, and nothing else."""
    bus = await SqliteBus.open(folder / "log", partitions=PARTITIONS, clock=SystemClock())
    try:
        await _namespaces(bus, namespaces)
        writer = TextGenerator(seed)
        texts = [writer.paragraph(characters, number) for number in range(min(TEXTS, documents))]
        for first in range(0, documents, BATCH_DOCUMENTS):
            await _documents(bus, range(first, min(first + BATCH_DOCUMENTS, documents)), namespaces, texts)
        await bus.run([_register_consumed(name, topic) for name, topic in _READERS], until_idle=True)
    finally:
        await bus.close()


async def _namespaces(bus: SqliteBus, count: int) -> None:
    now = datetime.now(UTC)
    entries = [
        (
            f"namespace/{namespace(number)}",
            SettingsChanged(
                change=NamespaceChanged(
                    name=namespace(number),
                    epoch=0,
                    incarnations=(incarnation_key(namespace(number), 0),),
                    created_at=now,
                    updated_at=now,
                )
            ),
        )
        for number in range(count)
    ]
    await bus.publish(SETTINGS_CHANGED, entries)


async def _documents(bus: SqliteBus, numbers: Sequence[int], namespaces: int, texts: Sequence[str]) -> None:
    submitted = list(_submitted(numbers, namespaces, texts))
    entries = [(f"{event.incarnation}/{event.document}", event) for event in submitted]
    positions = await bus.publish(DOCUMENTS_SUBMITTED, entries)
    extracted = [_extracted(*pair) for pair in zip(submitted, positions, strict=True)]
    await bus.publish(DOCUMENTS_EXTRACTED, [(key, event) for (key, _), event in zip(entries, extracted, strict=True)])


def _register_consumed(name: str, topic: Topic[Any]) -> Stage[Any]:
    """A stage that has handled everything: the tables are to be made by a replay, not by it."""

    async def handle(batch: Sequence[Record[Any]]) -> None:
        """Do nothing."""

    return Stage(name, topic, handle, batch_size=BATCH_DOCUMENTS)


def _submitted(numbers: Sequence[int], namespaces: int, texts: Sequence[str]) -> Iterator[DocumentSubmitted]:
    for number in numbers:
        home = incarnation_key(namespace(number % namespaces), 0)
        public = f"d{number}"
        yield DocumentSubmitted(
            operation="add",
            incarnation=home,
            document=document_key(home, public),
            id=public,
            at=datetime.now(UTC),
            content=Content(text=f"{texts[number // namespaces % len(texts)]} Number {number}."),
            metadata={"share": f"s{number % 10}", "number": number},
            task_type="superrag",
        )


def _extracted(event: DocumentSubmitted, position: Position) -> DocumentExtracted:
    return DocumentExtracted(
        incarnation=event.incarnation,
        document=event.document,
        id=event.id,
        seq=position.offset,
        at=event.at,
        text=event.content or Content(),
        type="text",
        task_type="superrag",
    )
