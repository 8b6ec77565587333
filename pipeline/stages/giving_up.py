"""What a document looks like when the pipeline gives one of its records up, and when it is taken up again."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from pipeline.ports import Documents
from pipeline.rows import DocumentRow, Status


async def give_up(
    documents: Documents, key: str, seq: int, reason: str, *, dreaming: bool | None = None
) -> None:
    """The document failed, and why; on disk on return. One that was changed since is left alone.

    `dreaming` None: whether its memories are still to be formed stays as it is.
    """

    def change(_: str, rows: list[DocumentRow]) -> Sequence[DocumentRow] | None:
        if not rows or rows[0].current_seq > seq:
            return None
        row = replace(rows[0], status="failed", error=reason)
        return [row if dreaming is None else replace(row, dreaming=dreaming, dreaming_error=None)]

    await documents.update([key], change)
    await documents.durable()


async def take_up(
    documents: Documents, places: Iterable[tuple[str, int]], status: Status, *, dreaming: bool = False
) -> None:
    """Documents by key and `seq` that failed are under way again, with `dreaming` their memories too."""
    wanted = dict(places)
    if not wanted:
        return

    def change(key: str, rows: list[DocumentRow]) -> Sequence[DocumentRow] | None:
        if not rows or rows[0].status != "failed" or rows[0].content_seq > wanted[key]:
            return None
        dreams = rows[0].dreaming or (dreaming and rows[0].task_type != "superrag")
        return [replace(rows[0], status=status, error=None, dreaming=dreams)]

    await documents.update(list(wanted), change)
