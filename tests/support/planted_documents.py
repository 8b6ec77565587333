"""Documents with a planted word in each kind of file: uploaded, a mail, and one that a connector brought."""

from datetime import UTC, datetime

from connectors.sync.item_submission import ContentFingerprint, build_submission, document_id
from connectors.sync_messages import ItemFile, SourceItem
from schemas.events import ConnectorChanged
from schemas.topics import DOCUMENTS_SUBMITTED
from tests.support.service_world import RunningService

FILE_WORDS = ("zyxofileq", "zyxomailq", "zyxosyncq", "zyxoitemq")
MAIL = b"From: Ada <ada@example.org>\nSubject: Hi\n\nI own a zyxomailq.\n"


async def plant_files(service: RunningService, ns: str) -> list[str]:
    """Add the documents; their ids."""
    ids = []
    for name, data in (("notes.txt", b"The plan of zyxofileq."), ("hi.eml", MAIL)):
        ids.append(await service.add_file(ns, name, data))
    file = ItemFile(b"The budget of zyxosyncq.", "budget.txt", "text/plain")
    items = [
        SourceItem("1", "v1", "Budget", file=file),
        SourceItem("2", "v1", "zyxoitemq", text="zyxoitemq is a word. " * 20_000, metadata={"author": "zyxoitemq"}),
    ]
    return ids + [await _sync(service, ns, item) for item in items]


async def _sync(service: RunningService, ns: str, item: SourceItem) -> str:
    """Submit an item as a connector's run does; the id of its document."""
    now = datetime.now(UTC)
    row = ConnectorChanged(
        id="con_1",
        provider="granola",
        incarnation=f"{ns}#0",
        status="active",
        document_limit=10,
        created_at=now,
        updated_at=now,
    )
    fingerprint, blobs = ContentFingerprint.of_item(item), service.pipeline.resources.blobs
    event = await build_submission(row, item, None, fingerprint, blobs=blobs, submitted_at=now)
    await service.pipeline.bus.publish(DOCUMENTS_SUBMITTED, [(f"{event.incarnation}/{event.document}", event)])
    return document_id(row, item.id)
