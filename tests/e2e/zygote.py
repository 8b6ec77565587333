"""`recollect` without its second of imports: one process has imported it, and forks for each command.

The forked process has the caller's arguments, folder, variables and standard streams, and runs the same
command line; tests/e2e/test_commands.py starts the real program besides.
"""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from bench.server import PROGRAM

_CLIENT = """#!{python} -IS
import json, os, socket, sys
if sys.argv[1:2] == ["serve"]:  # gets signals of its own
    os.execv({real!r}, [{real!r}, *sys.argv[1:]])
with socket.socket(socket.AF_UNIX) as asking:
    asking.connect({address!r})
    asked = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
    socket.send_fds(asking, [len(asked).to_bytes(4, "big")], [0, 1, 2])
    asking.sendall(asked)
    sys.exit(int(asking.makefile().read() or 1))
"""


@contextmanager
def zygote(folder: Path) -> Iterator[Path]:
    """A program `recollect` in the folder that is quick to start."""
    address, program = folder / "zygote", folder / "recollect"
    program.write_text(_CLIENT.format(python=sys.executable, address=str(address), real=PROGRAM))
    program.chmod(0o755)
    command = [sys.executable, "-m", "tests.e2e.zygote", str(address)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]) as process:  # noqa: S603 - this interpreter
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            yield program
        finally:
            process.terminate()


def _serve(address: str) -> NoReturn:
    import recollect  # noqa: PLC0415 - whoever starts this need not wait for it

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        print("ready", flush=True)  # noqa: T201 - told to whoever started it
        while True:
            asking, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                _become(asking, recollect.main)
            asking.close()


def _become(asking: socket.socket, main: Callable[[], None]) -> NoReturn:
    """The command that was asked for, in this process; its exit code is the answer."""
    head, streams, *_ = socket.recv_fds(asking, 4, 3)
    size, asked = int.from_bytes(head, "big"), b""
    while len(asked) < size:
        asked += asking.recv(size - len(asked))
    words, folder, variables = json.loads(asked)
    for standard, given in enumerate(streams):
        os.dup2(given, standard)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)
    code = 1
    try:
        sys.argv = ["recollect", *words]
        main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        asking.sendall(str(code).encode())
        os._exit(code)


if __name__ == "__main__":
    _serve(sys.argv[1])
