"""Blocks of the log, read once for all who come to them within seconds: on Kafka each reading opens a connection."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass

from pipeline.bus.port import Bus
from pipeline.bus.records import RawRecord

BLOCK_RECORDS = 512
SHARED_SECONDS = 5.0
MAX_SHARED_BYTES = 16 * 1024 * 1024
_BlockKey = tuple[str, int, int]
"""Topic, partition and number of a block."""


@dataclass(slots=True)
class _Block:
    end: int
    """Offset up to which the block was read."""
    reading: asyncio.Task[list[RawRecord]]
    read_at: float
    size: int = 0
    """Bytes, once it is read."""


class LogBlocks:
    """Reader of the log whose blocks are shared. Records never change; what is taken back is dropped by `clear`."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._blocks: dict[_BlockKey, _Block] = {}
        self._readings: set[asyncio.Task[list[RawRecord]]] = set()

    async def read(self, topic: str, partition: int, start: int, end: int) -> AsyncGenerator[RawRecord, None]:
        """Read the records of a partition with offsets in [start, end), as `Bus.read` does."""
        for number in range(start // BLOCK_RECORDS, -(-end // BLOCK_RECORDS)):
            last = min(end, (number + 1) * BLOCK_RECORDS)
            for record in await self._read_block((topic, partition, number), last):
                if start <= record.offset < end:
                    yield record

    def clear(self) -> None:
        """Share nothing that was read before."""
        self._blocks.clear()

    async def close(self) -> None:
        readings = list(self._readings)
        for reading in readings:
            reading.cancel()
        await asyncio.gather(*readings, return_exceptions=True)
        self.clear()

    async def _read_block(self, key: _BlockKey, end: int) -> list[RawRecord]:
        self._drop_old()
        block = self._blocks.get(key)
        if block is None or block.end < end:
            reading = asyncio.create_task(self._load(key, end), name="feed block")
            block = self._blocks[key] = _Block(end, reading, asyncio.get_running_loop().time())
            self._readings.add(reading)
            reading.add_done_callback(lambda task: self._on_read(key, task))
        # One reader that leaves does not end what others wait for.
        return await asyncio.shield(block.reading)

    async def _load(self, key: _BlockKey, end: int) -> list[RawRecord]:
        topic, partition, number = key
        async with aclosing(self._bus.read(topic, partition, number * BLOCK_RECORDS, end)) as records:
            return [record async for record in records]

    def _on_read(self, key: _BlockKey, reading: asyncio.Task[list[RawRecord]]) -> None:
        """Note the size of a block; forget one that could not be read, so that the next reader tries again."""
        self._readings.discard(reading)
        failed = reading.cancelled() or reading.exception() is not None
        block = self._blocks.get(key)
        if block is None or block.reading is not reading:
            return
        if failed:
            del self._blocks[key]
        else:
            block.size = sum(len(record.value) for record in reading.result())

    def _drop_old(self) -> None:
        """Drop what was read some seconds ago, and the oldest blocks beyond the limit of bytes."""
        oldest = asyncio.get_running_loop().time() - SHARED_SECONDS
        size = 0
        for key, block in reversed(list(self._blocks.items())):
            size += block.size
            if block.reading.done() and (block.read_at <= oldest or size > MAX_SHARED_BYTES):
                del self._blocks[key]
