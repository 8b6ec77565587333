"""Killable worker processes for parsers of foreign files: started when needed, kept while idle."""

import asyncio
import json
import os
import sys
from asyncio import StreamReader, StreamWriter
from dataclasses import dataclass
from subprocess import DEVNULL, PIPE, Popen
from typing import Any

from pipeline.errors import ExtractionError
from pipeline.extraction.worker import LENGTHS, message

RECYCLE = 500
"""Requests after which a worker is replaced, so that no leak of a parser grows for ever."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """A worker's answer: text, and the title and subject that the file itself names."""

    text: str
    title: str | None
    subject: str | None


class WorkerPool:
    """At most `count` workers; `seconds` per request, `memory_mb` per worker on top of its libraries."""

    def __init__(self, *, count: int = 1, seconds: float = 60.0, memory_mb: int = 1536) -> None:
        self._seconds = seconds
        self._memory_mb = memory_mb
        self._slots = asyncio.Semaphore(count)
        self._idle: list[_Worker] = []
        self._all: set[_Worker] = set()

    async def parse(self, data: bytes, *, mime: str, filename: str | None, output: str) -> Parsed:
        """The text of a file; ParserError: the parser refuses it; ExtractionError: a limit was hit."""
        async with self._slots:
            worker = self._idle.pop() if self._idle else await self._start()
            try:
                async with asyncio.timeout(self._seconds):
                    parsed = await worker.parse(data, {"mime": mime, "filename": filename, "output": output})
            except TimeoutError as error:
                raise ExtractionError(
                    f"Reading the file took longer than {self._seconds:g} s and was stopped. "
                    "Send a smaller part of it, or raise RECOLLECT_EXTRACT_SECONDS."
                ) from error
            except (EOFError, BrokenPipeError, ConnectionError) as error:
                raise ExtractionError(
                    f"Reading the file took more than {self._memory_mb} MB of memory or crashed the parser. "
                    "It may be damaged; send a smaller part of it, or raise RECOLLECT_EXTRACT_MEMORY_MB."
                ) from error
            finally:
                await self._return(worker)
            return parsed

    async def aclose(self) -> None:
        """End every worker."""
        self._idle.clear()
        for worker in tuple(self._all):
            await self._end(worker)

    async def _start(self) -> "_Worker":
        worker = await _Worker.start(self._memory_mb)
        self._all.add(worker)
        return worker

    async def _return(self, worker: "_Worker") -> None:
        if worker.healthy and worker.served < RECYCLE:
            self._idle.append(worker)
        else:
            await self._end(worker)

    async def _end(self, worker: "_Worker") -> None:
        self._all.discard(worker)
        await asyncio.shield(worker.end())


class ParserError(ExtractionError):
    """The parser's own reason why a file can't be read, in its words."""


class _Worker:
    """One process. `healthy` means that it answered all it was asked."""

    def __init__(self, process: "Popen[bytes]", stdin: StreamWriter, stdout: StreamReader) -> None:
        self._process = process
        self._stdin = stdin
        self._stdout = stdout
        self.healthy = True
        self.served = 0

    @classmethod
    async def start(cls, memory_mb: int) -> "_Worker":
        # Not the event loop's own subprocesses: uvloop forks, and a forked child runs the fork hooks of every
        # library here before it becomes the worker. Popen goes from here to there at once.
        process = Popen(  # noqa: S603, ASYNC220 - our own module; takes milliseconds
            [sys.executable, "-m", "pipeline.extraction.worker", str(memory_mb)],
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
            env=_environment(),
            start_new_session=True,  # Ctrl-C in the terminal is for the service, which then ends its workers
        )
        loop = asyncio.get_running_loop()
        stdout = StreamReader()
        protocol = asyncio.StreamReaderProtocol(stdout)
        await loop.connect_read_pipe(lambda: protocol, process.stdout)
        transport, flow = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, process.stdin)
        return cls(process, StreamWriter(transport, flow, None, loop), stdout)

    async def parse(self, data: bytes, header: dict[str, Any]) -> Parsed:
        self.healthy = False
        answer, text = await self._ask(message(header, data))
        self.healthy = True
        self.served += 1
        if not answer["ok"]:
            raise ParserError(answer["error"])
        return Parsed(text.decode(), answer["title"], answer["subject"])

    async def _ask(self, request: bytes) -> tuple[dict[str, Any], bytes]:
        self._stdin.write(request)
        await self._stdin.drain()
        head, body = LENGTHS.unpack(await self._stdout.readexactly(LENGTHS.size))
        return json.loads(await self._stdout.readexactly(head)), await self._stdout.readexactly(body)

    async def end(self) -> None:
        self._process.kill()
        self._stdin.close()
        await asyncio.to_thread(self._process.wait)


def _environment() -> dict[str, str]:
    """Only what Python needs to start: a parser of foreign files has no use for keys and tokens."""
    kept = ("PATH", "PYTHONPATH", "VIRTUAL_ENV", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH", "SYSTEMROOT")
    return {name: os.environ[name] for name in kept if name in os.environ}
