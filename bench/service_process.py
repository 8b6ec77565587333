"""A server of its own: `recollect serve` as a process on a free port of loopback."""

import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import IO, ClassVar, Protocol, Self

import httpx2

from tools.parent_watchdog import start_watchdog, stop_watchdog
from tools.port_reservation import reserved_port

START_SECONDS = 240.0
"""Generous: a first start reads some hundred megabytes of libraries from a cold disk."""
PROGRAM = str(Path(sys.executable).with_name("recollect"))
EMBEDDER_VARIABLE = "RECOLLECT_EMBEDDER"


class ServerDiedError(Exception):
    """The process ended or never answered; the message holds the end of its output."""


class ServerProcess(Protocol):
    """The part of `subprocess.Popen` that a server needs."""

    @property
    def pid(self) -> int: ...
    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...
    def send_signal(self, sig: int, /) -> None: ...
    def kill(self) -> None: ...


def start_process(
    command: Sequence[str], folder: Path, variables: Mapping[str, str], output: IO[bytes]
) -> ServerProcess:
    """Start a command whose standard output and error go to a file."""
    return subprocess.Popen(command, cwd=folder, env=variables, stdout=output, stderr=output)  # noqa: S603 - our own command


class Server:
    """Starts, stops and kills one server on one data directory; it may be started again.

    `environment` adds settings; of those of the caller's own environment only the embedder is passed on, so that
    every benchmark can be run with each (`RECOLLECT_EMBEDDER=wordllama make bench`). `only`: some parts
    of the service, of which others with the same `key` and data directory are processes of their own.
    """

    launch: ClassVar[Callable[[Sequence[str], Path, Mapping[str, str], IO[bytes]], ServerProcess]] = start_process
    """Starts the process of every server; tests replace it by one that saves the imports."""

    def __init__(
        self,
        data_dir: Path,
        environment: Mapping[str, str] | None = None,
        *,
        only: str | None = None,
        key: str | None = None,
    ) -> None:
        self.data_dir = data_dir
        self.key = key or f"rk_{secrets.token_hex(16)}"
        self._only = only
        held = ExitStack()
        self.port = held.enter_context(reserved_port())
        # It may be started again for as long as it is known.
        weakref.finalize(self, held.close)
        self.url = f"http://127.0.0.1:{self.port}"
        self._environment = dict(environment or {})
        self._process: ServerProcess | None = None
        self._leash: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        """The process id of the running server."""
        if self._process is None:
            raise ServerDiedError("the server was not started")
        return self._process.pid

    @property
    def output(self) -> Path:
        """File that receives the server's standard output and error."""
        part = "" if self._only is None else f"-{self._only}-{self.port}"
        return self.data_dir.parent / f"{self.data_dir.name}{part}.log"

    def start(self) -> float:
        """Start and wait until /health answers; the seconds it took."""
        began = time.perf_counter()
        self.data_dir.mkdir(parents=True, exist_ok=True)
        with self.output.open("ab") as output:
            self._process = type(self).launch(self._command(), self.data_dir, self._variables(), output)
        self._leash = start_watchdog(self._process.pid)
        self._wait_until_healthy(began + START_SECONDS)
        return time.perf_counter() - began

    def stop(self) -> None:
        """Ask it to end and wait; what does not end within 30 seconds is killed."""
        self._stop_with(signal.SIGTERM)

    def wait(self) -> int:
        """Wait until it has ended by itself; its exit code."""
        process, self._process = self._process, None
        if process is None:
            raise ServerDiedError("the server was not started")
        ended = process.wait(timeout=60)
        self._release_port()
        return ended

    def kill(self) -> None:
        """SIGKILL: no goodbye, nothing flushed."""
        self._stop_with(signal.SIGKILL)

    def _stop_with(self, signal_number: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is not None and process.poll() is None:
            process.send_signal(signal_number)
            try:
                process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._release_port()

    def _release_port(self) -> None:
        leashed, self._leash = self._leash, None
        stop_watchdog(leashed)

    def _command(self) -> list[str]:
        address = ["--host", "127.0.0.1", "--port", str(self.port)]
        parts = [] if self._only is None else ["--only", self._only]
        return [PROGRAM, "serve", *address, *parts, "--data-dir", str(self.data_dir)]

    def _variables(self) -> dict[str, str]:
        return {**unconfigured(), "RECOLLECT_ADMIN_KEY": self.key, **self._environment}

    def _wait_until_healthy(self, deadline: float) -> None:
        with httpx2.Client(base_url=self.url, timeout=5.0) as client:
            while not _healthy(client):
                if self._process is None or self._process.poll() is not None:
                    raise ServerDiedError(f"the server ended at its start:\n{self._output_tail()}")
                if time.perf_counter() > deadline:
                    self.kill()
                    raise ServerDiedError(f"no answer within {START_SECONDS:.0f} s:\n{self._output_tail()}")
                time.sleep(0.02)

    def _output_tail(self) -> str:
        return self.output.read_text(errors="replace")[-4000:]


def run_command(words: Sequence[str], folder: Path, variables: Mapping[str, str]) -> str:
    """Run `recollect` with these words, started as servers are; its output. ServerDiedError if it fails."""
    with tempfile.TemporaryFile() as output:
        status = Server.launch([PROGRAM, *words], folder, variables, output).wait()
        output.seek(0)
        printed = output.read().decode()
    if status:
        raise ServerDiedError(f"`recollect {' '.join(words)}` ended with {status}:\n{printed[-4000:]}")
    return printed


def unconfigured() -> dict[str, str]:
    """The caller's environment without settings of recollect, but the embedder."""
    return {
        name: value
        for name, value in os.environ.items()
        if name == EMBEDDER_VARIABLE or not name.startswith("RECOLLECT_")
    }


def _healthy(client: httpx2.Client) -> bool:
    try:
        return client.get("/health").status_code == httpx2.codes.OK
    except httpx2.TransportError:
        return False
