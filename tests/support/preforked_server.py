"""`recollect serve` without its seconds of imports, for tests that start and kill many processes.

One process has imported what a service imports, its parser and its smallest embedder, and forks for each start. The
forked process has the caller's arguments, folder, variables and output, runs the real command line, and may be killed
like any other. Only the hash seed is shared.
tests/e2e/test_cli_commands.py and tests/packaging start the real program besides.
"""

import gc
import json
import os
import signal
import socket
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import IO, NoReturn

from bench.service_process import PROGRAM, ServerProcess, start_process
from tests.support.fork_server import receive_request, run_program, serve_forks
from tools.parent_watchdog import start_watchdog, stop_watchdog

ROOT = Path(__file__).parents[2]


class ForkedProcess:
    """What `subprocess.Popen` is, for a process that another process forked and waits for."""

    def __init__(self, minder: socket.socket) -> None:
        self._minder = minder
        self._messages = minder.makefile("rb")
        self._exit_code: int | None = None
        self.pid = int(self._messages.readline())

    def poll(self) -> int | None:
        """Exit code; None while it runs."""
        try:
            return self.wait(timeout=0.0)
        except subprocess.TimeoutExpired:
            return None

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; the exit code. subprocess.TimeoutExpired when it still runs."""
        if self._exit_code is None:
            self._minder.settimeout(timeout)
            try:
                said = self._minder.recv(16, socket.MSG_PEEK)
            except (TimeoutError, BlockingIOError) as error:
                raise subprocess.TimeoutExpired(PROGRAM, timeout or 0.0) from error
            # Without an answer the process that waited for it was killed, and this one with it.
            self._exit_code = int(said or b"-9")
            self._messages.close()
            self._minder.close()
        return self._exit_code

    def send_signal(self, signal_number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, signal_number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class ServerForker:
    """Forks servers from a process that is started when the first one is asked for."""

    def __init__(self, folder: Path) -> None:
        self._address = str(folder / "server-forker")
        self._process: subprocess.Popen[bytes] | None = None
        self._watchdog: subprocess.Popen[bytes] | None = None
        self._lock = Lock()

    def start(
        self, command: Sequence[str], folder: Path, variables: Mapping[str, str], output: IO[bytes]
    ) -> ServerProcess:
        """Fork the server, or start any other command as it is."""
        if command[0] != PROGRAM:
            return start_process(command, folder, variables, output)
        with self._lock:  # processes of a deployment are started at once
            if self._process is None:
                self._start_forker()
        asking = socket.socket(socket.AF_UNIX)
        asking.connect(self._address)
        request = json.dumps([list(command), str(folder), dict(variables)]).encode()
        socket.send_fds(asking, [len(request).to_bytes(4, "big")], [output.fileno()])
        asking.sendall(request)
        return ForkedProcess(asking)

    def stop(self) -> None:
        """End the process that forks; the servers it forked were stopped by their tests."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
        stop_watchdog(self._watchdog)

    def _start_forker(self) -> None:
        command = [sys.executable, "-m", "tests.support.preforked_server", self._address]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT)  # noqa: S603 - this interpreter
        self._watchdog = start_watchdog(self._process.pid)
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"ready\n"


@contextmanager
def preforked_servers(folder: Path) -> Iterator[ServerForker]:
    """Context in which servers may be forked; `folder` holds the socket."""
    forker = ServerForker(folder)
    try:
        yield forker
    finally:
        forker.stop()


def _run_forker(address: str) -> NoReturn:
    # Whoever starts servers need not import them, and some are imported by a server only when it first uses them.
    import anyio._backends._asyncio  # noqa: PLC0415, F401 - as above
    import httpcore2  # noqa: PLC0415, F401 - as above
    import uvloop  # noqa: PLC0415, F401 - as above

    import app.cli.main  # noqa: PLC0415 - as above
    import app.server_process  # noqa: PLC0415, F401 - as above
    import connectors.providers.provider_registry  # noqa: PLC0415, F401 - as above
    import pipeline.bus.kafka.bus  # noqa: PLC0415 - as above
    import pipeline.runtime.span_exporter  # noqa: PLC0415, F401 - as above
    from pipeline.memory.grammar.english_parser import load_parser  # noqa: PLC0415 - as above
    from pipeline.models.wordllama_embedder import WordLlamaEmbedder  # noqa: PLC0415 - as above
    from recollect.__main__ import main  # noqa: PLC0415 - as above

    load_parser()
    WordLlamaEmbedder.from_package()
    gc.freeze()
    # Nothing of LanceDB is in use yet, which is what it warns of.
    warnings.filterwarnings("ignore", message="lancedb fork support")
    serve_forks(address, lambda asking: _mind_server(asking, main))


def _mind_server(asking: socket.socket, main: Callable[[], None]) -> NoReturn:
    """Fork the server that was asked for; answer with its process id, and with its exit code when it has ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    (command, folder, variables), (output,) = receive_request(asking, 1)
    pid = os.fork()
    if pid == 0:
        asking.close()
        os._exit(run_program(main, command, folder, variables, {1: output, 2: output}))
    os.close(output)
    asking.sendall(b"%d\n" % pid)
    _, status = os.waitpid(pid, 0)
    asking.sendall(b"%d" % os.waitstatus_to_exitcode(status))
    os._exit(0)


if __name__ == "__main__":
    _run_forker(sys.argv[1])
