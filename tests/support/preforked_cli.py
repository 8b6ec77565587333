"""`recollect`, and `python -` with the official client, without their seconds of imports.

One process has imported both and forks for each. The forked process has the caller's arguments, folder,
variables and streams, and runs the same command line, or the program on its standard input;
tests/e2e/test_cli_commands.py starts the real program besides.
"""

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from bench.service_process import PROGRAM
from tests.support.fork_server import receive_request, run_program, serve_forks

UNREACHABLE_URL = "http://127.0.0.1:1"
_CLIENT_SCRIPT = """#!{python} -IS
import json, os, socket, sys
if {leave}:
    os.execv({real!r}, [{real!r}, *sys.argv[1:]])
with socket.socket(socket.AF_UNIX) as asking:
    asking.connect({address!r})
    asked = json.dumps([{name!r}, sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
    socket.send_fds(asking, [len(asked).to_bytes(4, "big")], [0, 1, 2])
    asking.sendall(asked)
    sys.exit(int(asking.makefile().read() or 1))
"""


@contextmanager
def preforked_cli(folder: Path) -> Iterator[Path]:
    """A program `recollect` in the folder that is quick to start, and a `python` beside it."""
    address = folder / "zygote"
    # A service gets signals of its own, and a program from a file may be anything.
    for name, real, leave in (
        ("recollect", PROGRAM, 'sys.argv[1:2] == ["serve"]'),
        ("python", sys.executable, 'sys.argv[1:] != ["-"]'),
    ):
        program = folder / name
        program.write_text(
            _CLIENT_SCRIPT.format(python=sys.executable, address=str(address), real=real, leave=leave, name=name)
        )
        program.chmod(0o755)
    command = [sys.executable, "-m", "tests.support.preforked_cli", str(address)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]) as process:  # noqa: S603 - this interpreter
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            yield folder / "recollect"
        finally:
            process.terminate()


def _run_fork_server(address: str) -> NoReturn:
    import supermemory  # noqa: PLC0415, F401 - whoever starts this need not wait for it
    from typer.testing import CliRunner  # noqa: PLC0415 - as above

    from app.cli import main as recollect  # noqa: PLC0415 - as above

    # What the first command of a process loads and builds is there for all.
    CliRunner().invoke(recollect.app, ["search", "a", "b", "--url", UNREACHABLE_URL, "--key", "none"])
    programs: dict[str, Callable[[], None]] = {"recollect": recollect.app, "python": _run_stdin_program}

    serve_forks(address, lambda asking: _run_in_fork(asking, programs))


def _run_stdin_program() -> None:
    """The program on standard input."""
    exec(compile(sys.stdin.read(), "<stdin>", "exec"), {"__name__": "__main__"})  # noqa: S102 - a guide's


def _run_in_fork(asking: socket.socket, programs: Mapping[str, Callable[[], None]]) -> NoReturn:
    """The command that was asked for, in this process; its exit code is the answer."""
    (name, words, folder, variables), streams = receive_request(asking, 3)
    code = run_program(programs[name], [name, *words], folder, variables, dict(enumerate(streams)))
    asking.sendall(str(code).encode())
    os._exit(code)


if __name__ == "__main__":
    _run_fork_server(sys.argv[1])
