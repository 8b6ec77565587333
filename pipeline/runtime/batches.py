"""Division of work into batches of bounded size."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def batches_within(
    items: Iterable[T], size_of: Callable[[T], int], limit: int, max_items: int | None = None
) -> Iterator[list[T]]:
    """Divide in order into batches of at most `limit` in all; only a single item may exceed it.

    >>> list(batches_within(["ab", "c", "d", "efgh"], len, 3))
    [['ab', 'c'], ['d'], ['efgh']]
    """
    batch: list[T] = []
    total = 0
    for item in items:
        size = size_of(item)
        if batch and (total + size > limit or len(batch) == max_items):
            yield batch
            batch, total = [], 0
        batch.append(item)
        total += size
    if batch:
        yield batch
