"""Updates of a document whose record was dead-lettered, and of one that an operator redrives."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from pipeline.ports import DocumentTable
from pipeline.rows import DocumentRow, DocumentStatus


async def mark_failed(
    documents: DocumentTable, key: str, seq: int, reason: str, *, extraction_pending: bool | None = None
) -> None:
    """Mark the document as failed, on disk on return; a document with newer content stays unchanged.

    `extraction_pending` None: leave that flag as it is.
    """

    def change(_: str, rows: list[DocumentRow]) -> Sequence[DocumentRow] | None:
        if not rows or rows[0].searchable_seq > seq:
            return None
        row = replace(rows[0], status="failed", error=reason)
        return [
            row
            if extraction_pending is None
            else replace(row, extraction_pending=extraction_pending, extraction_error=None)
        ]

    await documents.update([key], change)
    await documents.wait_until_durable()


async def reset_for_retry(
    documents: DocumentTable,
    seq_by_document: Iterable[tuple[str, int]],
    status: DocumentStatus,
    *,
    extraction_pending: bool = False,
) -> None:
    """Put failed documents (by key and `seq`) back to `status`; `extraction_pending` also their memories."""
    seqs = dict(seq_by_document)
    if not seqs:
        return

    def change(key: str, rows: list[DocumentRow]) -> Sequence[DocumentRow] | None:
        if not rows or rows[0].status != "failed" or rows[0].content_seq > seqs[key]:
            return None
        pending = rows[0].extraction_pending or (extraction_pending and rows[0].task_type != "superrag")
        return [replace(rows[0], status=status, error=None, extraction_pending=pending)]

    await documents.update(list(seqs), change)
