"""The process that parses files: `python -m pipeline.extraction.worker <memory in MB>`.

It reads requests from stdin and writes answers to stdout, one at a time, until stdin ends. A message is two
lengths (4 and 8 bytes, big-endian), a JSON header and a body. The parent kills it when it takes too long; a
limit on its address space stops what unpacks without end; it dies with its parent.
"""

import asyncio
import ctypes
import json
import os
import signal
import struct
import sys
from typing import Any, BinaryIO

LENGTHS = struct.Struct(">IQ")
"""The lengths of header and body."""
_PR_SET_PDEATHSIG = 1


def message(header: dict[str, Any], body: bytes) -> bytes:
    """A message as bytes."""
    head = json.dumps(header).encode()
    return LENGTHS.pack(len(head), len(body)) + head + body


def main() -> None:
    """Serve until stdin ends."""
    _die_with_parent()
    # Nothing but answers may reach the pipe, whatever a native library prints.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    import xberg  # noqa: PLC0415 - the parent imports this module for its message format only

    _limit_memory(int(sys.argv[1]) * 1024 * 1024)
    with asyncio.Runner() as runner:
        while (request := _read(sys.stdin.buffer)) is not None:
            answers.write(runner.run(_answer(xberg, *request)))
            answers.flush()


async def _answer(xberg: Any, header: dict[str, Any], body: bytes) -> bytes:
    """`{"ok": true, "title", "subject"}` with the text, or `{"ok": false, "error"}`."""
    config = xberg.ExtractionConfig(
        use_cache=False,
        disable_ocr=True,
        enable_quality_processing=False,
        output_format=header["output"],
        html_options=xberg.ConversionOptions(extract_metadata=False),
    )
    source = xberg.ExtractInput(
        kind="bytes", bytes=body, mime_type=header["mime"], filename=header["filename"]
    )
    try:
        result = await xberg.extract(source, config)
    except (RuntimeError, ValueError, OSError, MemoryError) as error:
        return message({"ok": False, "error": str(error)}, b"")
    if result.errors or not result.results:
        return message({"ok": False, "error": "; ".join(e.message for e in result.errors)}, b"")
    found = result.results[0]
    details = {"ok": True, "title": found.metadata.title, "subject": found.metadata.subject}
    return message(details, found.content.encode(errors="replace"))


def _read(stream: BinaryIO) -> tuple[dict[str, Any], bytes] | None:
    lengths = stream.read(LENGTHS.size)
    if len(lengths) < LENGTHS.size:
        return None
    head, body = LENGTHS.unpack(lengths)
    return json.loads(stream.read(head)), stream.read(body)


def _limit_memory(extra: int) -> None:
    """Allow `extra` bytes of address space beyond what the loaded libraries take already."""
    if sys.platform != "linux":
        return
    import resource  # noqa: PLC0415 - Windows has no such module

    with open("/proc/self/statm") as statm:  # noqa: PTH123 - one line of a pseudo file
        used = int(statm.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + extra, used + extra))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _die_with_parent() -> None:
    """On Linux the kernel kills the worker with its parent; elsewhere the end of stdin has to do."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    main()
