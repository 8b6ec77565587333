"""Check that the tables hold what the stages have handled, as the log says."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass

from app.generation_pipeline import Pipeline
from pipeline.bus.records import decode_batch
from pipeline.runtime.durable_files import write_durably
from pipeline.stage import Record, Stage
from pipeline.store import StoreMismatchError
from schemas.events import DocumentSubmitted
from schemas.topics import DOCUMENTS_SUBMITTED

NEWEST_SUBMISSIONS = 8
"""Submissions of each partition, the last handled ones, that are looked up."""
MAX_LAG = 1000
"""A partition with more unhandled records is not checked: any of them may delete a document."""
REMEDY = (
    "They are older than the log, or were removed. Put back the tables that belong to the log; or build new ones from"
    " it with `recollect replay --force` while the service is stopped."
)


def verify_last_run(pipeline: Pipeline) -> None:
    """StoreMismatchError if the tables do not know their last run with this log: an older copy was put back.

    A file beside the log, so that it is copied with it, holds that run, which is this one from now on. Only tables of
    one process, in a folder, keep a list of their runs.
    """
    if pipeline.store.write_ahead_log is None:
        return
    file = pipeline.resources.settings.data_dir / "log" / "last-runs.json"
    history = pipeline.store.write_ahead_log.history
    last_runs: dict[str, str] = json.loads(file.read_bytes()) if file.exists() else {}
    tables = history.sessions[0]
    if last_runs.get(tables, tables) not in history.sessions:
        raise StoreMismatchError(
            f"The tables do not belong to the log ({pipeline.bus.description}): they lack what was written since they"
            f" were last used with it. {REMEDY}"
        )
    write_durably(file, json.dumps(last_runs | {tables: history.session}).encode())


async def verify_tables_cover_log(pipeline: Pipeline) -> None:
    """StoreMismatchError if the tables lack the newest documents of every partition, which no stage would make again.

    Of every one: lost and older tables lack them all, and a single odd record shall not keep a service from starting.
    """
    stage = next(stage for stage in pipeline.stages if stage.source is DOCUMENTS_SUBMITTED)
    topic = DOCUMENTS_SUBMITTED.name
    lag = (await pipeline.bus.lag([stage])).get(stage.group, {})
    ends = await pipeline.bus.end_offsets(topic)
    handled = {
        number: end - behind
        for number, end in ends.items()
        if 0 <= (behind := lag.get((topic, number), end)) < min(end, MAX_LAG)
    }
    checks = await asyncio.gather(*(_check(pipeline, stage, number, at) for number, at in handled.items()))
    lost = next((check.lost for check in checks if check.lost is not None), None)
    if lost is not None and not any(check.has_documents for check in checks):
        raise StoreMismatchError(
            f"The tables do not belong to the log ({pipeline.bus.description}): they lack the document of record"
            f" {lost.offset} of {topic}/{lost.partition}, which was handled. {REMEDY}"
        )


@dataclass(frozen=True, slots=True)
class _PartitionCheck:
    """Result for a partition: the tables have a document of its newest handled submissions, or lack that of `lost`."""

    has_documents: bool = False
    lost: Record[DocumentSubmitted] | None = None


async def _check(pipeline: Pipeline, stage: Stage[DocumentSubmitted], partition: int, handled: int) -> _PartitionCheck:
    begin = max(0, handled - NEWEST_SUBMISSIONS)
    newest = await _newest_by_document(pipeline, stage, partition, begin)
    expected = {document: record for document, record in newest.items() if record.offset < handled}
    if not expected:
        return _PartitionCheck()
    documents = pipeline.store.documents
    documents.hint_incarnations({document: record.event.incarnation for document, record in expected.items()})
    rows = await documents.get(expected.keys())
    if any(row.seq >= expected[document].offset for document, found in rows.items() for row in found):
        return _PartitionCheck(has_documents=True)
    # Other processes may have deleted documents since the log was read.
    later = await _newest_by_document(pipeline, stage, partition, begin)
    left = [record for document, record in expected.items() if document in later]
    return _PartitionCheck(lost=left[-1] if left else None)


async def _newest_by_document(
    pipeline: Pipeline, stage: Stage[DocumentSubmitted], partition: int, begin: int
) -> dict[str, Record[DocumentSubmitted]]:
    """Read the newest submission of each document that exists, by its key."""
    newest: dict[str, Record[DocumentSubmitted]] = {}
    async for record in _read(pipeline, stage, partition, begin):
        newest.pop(record.event.document, None)
        # A redriven record may be older than what deleted its document.
        if record.event.operation != "delete" and not record.redriven:
            newest[record.event.document] = record
    await pipeline.resources.settings_lock.catch_up()
    owner = pipeline.store.catalog.namespace_of
    return {key: record for key, record in newest.items() if owner(record.event.incarnation) is not None}


async def _read(
    pipeline: Pipeline, stage: Stage[DocumentSubmitted], partition: int, begin: int
) -> AsyncIterator[Record[DocumentSubmitted]]:
    async with aclosing(pipeline.bus.read(stage.source.name, partition, begin)) as records:
        async for raw in records:
            for record in decode_batch(stage, [raw]):
                yield record
