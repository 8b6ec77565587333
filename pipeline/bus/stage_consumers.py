"""Rules for running stages that both buses share."""

import asyncio
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import aclosing

from pipeline.bus.records import RawRecord, decode_batch
from pipeline.stage import Stage
from schemas.topics import E

BACKLOG_BATCH_SIZE = 512


def reject_duplicate_groups(groups: Sequence[str], running: Collection[str]) -> None:
    """Raise ValueError if a group is given twice or runs already."""
    duplicates = sorted(group for group in set(groups) if group in running or groups.count(group) > 1)
    if duplicates:
        raise ValueError(
            f"each stage runs once per bus; these groups are given twice or run already: {', '.join(duplicates)}"
        )


def consumer_failure(task: asyncio.Task[None], offset: int | None) -> BaseException:
    """Return the error that ended a consumer, which never ends by itself, with the place in a note."""
    error = None if task.cancelled() else task.exception()
    error = error or RuntimeError("the consumer was cancelled from inside")
    error.add_note(f"in stage {task.get_name()}, at offset {offset}")
    return error


async def apply_backlog(stage: Stage[E], records: AsyncGenerator[RawRecord, None]) -> None:
    """Pass unhandled records to the stage's `apply_optimistically`, in batches."""
    if stage.apply_optimistically is None:
        return
    batch: list[RawRecord] = []
    async with aclosing(records):
        async for record in records:
            batch.append(record)
            if len(batch) == BACKLOG_BATCH_SIZE:
                await stage.apply_optimistically(decode_batch(stage, batch))
                batch = []
    if batch:
        await stage.apply_optimistically(decode_batch(stage, batch))


async def cancel_and_wait(tasks: Sequence[asyncio.Task[None]]) -> None:
    """Cancel tasks and wait until they have ended; their errors are ignored."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
