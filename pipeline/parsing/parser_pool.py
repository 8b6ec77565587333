"""Pools of killable worker processes that read untrusted files; started on demand, kept while idle."""

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from subprocess import DEVNULL, PIPE, Popen
from typing import IO, Any, ClassVar, cast

from pipeline.errors import ParsingError
from pipeline.parsing import parser_process
from pipeline.parsing.parser_process import FRAME_LENGTHS, encode_frame

MAX_REQUESTS_PER_WORKER = 500
"""Requests after which a worker is replaced, to bound memory leaks of a parser."""


@dataclass(frozen=True, slots=True)
class ParserResult:
    text: str
    title: str | None
    subject: str | None
    pages: tuple[int, ...] = ()
    """Indices of the pages that were recognized, or that show anything."""


class WorkerPool:
    """Pool of `max_workers` processes that run `module`, with limits on time per request and memory per process.

    `memory_limit_mb` counts on top of the module's own libraries.
    """

    module: ClassVar[str]

    def __init__(self, *, max_workers: int = 1, timeout_seconds: float = 60.0, memory_limit_mb: int = 1536) -> None:
        self._timeout_seconds = timeout_seconds
        self._memory_limit_mb = memory_limit_mb
        self._concurrency_limit = asyncio.Semaphore(max_workers)
        self._idle: list[_Worker] = []
        self._workers: set[_Worker] = set()

    async def request(self, data: bytes, header: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        """Send a file to a worker. UnparsableFileError: its library refused the file; ParsingError: it hit a limit."""
        async with self._concurrency_limit:
            worker = self._idle.pop() if self._idle else self._start()
            try:
                async with asyncio.timeout(self._timeout_seconds):
                    answer = await worker.request(data, header)
            except TimeoutError as error:
                raise ParsingError(
                    f"Reading the file took longer than {self._timeout_seconds:g} s and was stopped. "
                    "Send a smaller part of it, or raise RECOLLECT_PARSE_TIMEOUT_SECONDS."
                ) from error
            except (EOFError, BrokenPipeError, ConnectionError) as error:
                raise ParsingError(
                    f"Reading the file took more than {self._memory_limit_mb} MB of memory or crashed the "
                    "parser. The file may be damaged; send a part of it, or raise RECOLLECT_PARSE_MEMORY_MB."
                ) from error
            finally:
                await self._release(worker)
            return answer

    async def aclose(self) -> None:
        self._idle.clear()
        for worker in tuple(self._workers):
            await self._terminate(worker)

    def _start(self) -> "_Worker":
        worker = _Worker.start(self.module, self._memory_limit_mb)
        self._workers.add(worker)
        return worker

    async def _release(self, worker: "_Worker") -> None:
        if worker.healthy and worker.requests_served < MAX_REQUESTS_PER_WORKER:
            self._idle.append(worker)
        else:
            await self._terminate(worker)

    async def _terminate(self, worker: "_Worker") -> None:
        self._workers.discard(worker)
        await asyncio.shield(worker.terminate())


class ParserPool(WorkerPool):
    """Pool of processes that turn files into text."""

    module = parser_process.__name__

    async def parse(self, data: bytes, *, mime: str, filename: str | None, output: str) -> ParserResult:
        """Parse a file. UnparsableFileError: the parser refused it; ParsingError: it hit a limit."""
        return await self._parsed(data, {"mime": mime, "filename": filename, "output": output})

    async def recognize(self, data: bytes, *, mime: str, pages: Sequence[int] = ()) -> ParserResult:
        """Recognize the text of an image, or of these pages of a PDF; raises as `parse` does.

        Without `pages`, the result names those of a PDF that show anything.
        """
        return await self._parsed(data, {"mime": mime, "pages": list(pages), "ocr": True})

    async def _parsed(self, data: bytes, header: dict[str, Any]) -> ParserResult:
        answer, text = await self.request(data, header)
        return ParserResult(text.decode(), answer["title"], answer["subject"], tuple(answer.get("pages", ())))


class UnparsableFileError(ParsingError):
    """The parser refused a file; the message is the parser's own."""


class _Worker:
    """Worker process; `healthy` until a request stays without an answer."""

    def __init__(self, process: "Popen[bytes]", stdin: IO[bytes], stdout: IO[bytes]) -> None:
        self._process = process
        self._stdin = stdin
        self._stdout = stdout
        self.healthy = True
        self.requests_served = 0

    @classmethod
    def start(cls, module: str, memory_limit_mb: int) -> "_Worker":
        # uvloop's subprocesses fork, and a forked child runs the fork hooks of every loaded library before
        # exec. Popen avoids that with vfork.
        process = Popen(  # noqa: S603 - our own module; takes milliseconds
            [sys.executable, "-m", module, str(memory_limit_mb)],
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
            env=_minimal_environment(),
            start_new_session=True,  # Ctrl-C reaches only the service, which then ends its workers
        )
        return cls(process, cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout))

    async def request(self, data: bytes, header: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        self.healthy = False
        # In a thread: the event loops of Windows can't wait for pipes. A worker that is killed ends the thread too.
        answer, body = await asyncio.to_thread(self._exchange_frames, encode_frame(header, data))
        self.healthy = True
        self.requests_served += 1
        if not answer["ok"]:
            raise UnparsableFileError(answer["error"])
        return answer, body

    def _exchange_frames(self, request: bytes) -> tuple[dict[str, Any], bytes]:
        self._stdin.write(request)
        self._stdin.flush()
        head, body = FRAME_LENGTHS.unpack(self._read_exactly(FRAME_LENGTHS.size))
        return json.loads(self._read_exactly(head)), self._read_exactly(body)

    def _read_exactly(self, length: int) -> bytes:
        data = self._stdout.read(length)
        if len(data) < length:
            raise EOFError("the worker has ended")
        return data

    async def terminate(self) -> None:
        self._process.kill()
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        self._process.wait()
        with suppress(OSError):  # the rest of a request, which nobody reads any more
            self._stdin.close()
        self._stdout.close()


def _minimal_environment() -> dict[str, str]:
    """Copy only the variables that Python needs, so that no secrets reach the parser."""
    names = ("PATH", "PYTHONPATH", "VIRTUAL_ENV", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH", "SYSTEMROOT")
    return {name: os.environ[name] for name in names if name in os.environ}
