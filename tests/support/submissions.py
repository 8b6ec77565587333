"""Submissions shown to readers where no stages run."""

from collections.abc import Sequence

from app.submission_follower import SubmissionFollower
from pipeline.bus.port import Bus
from pipeline.ports import DocumentTable
from pipeline.projection import apply_submission
from pipeline.rows import DocumentRow
from pipeline.stage import Record, Stage
from schemas.events import DocumentSubmitted
from schemas.topics import DOCUMENTS_SUBMITTED


def follow_submissions(bus: Bus, documents: DocumentTable) -> SubmissionFollower:
    """Write submissions to the table in log order."""

    async def show(batch: Sequence[Record[DocumentSubmitted]]) -> None:
        for record in batch:

            def change(
                _: str, rows: list[DocumentRow], record: Record[DocumentSubmitted] = record
            ) -> list[DocumentRow]:
                after = apply_submission(rows[0] if rows else None, record.event, record.offset)
                return [] if after is None else [after]

            await documents.update([record.event.document], change)

    return SubmissionFollower(bus, Stage("extract", DOCUMENTS_SUBMITTED, show), show)
