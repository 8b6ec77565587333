"""A process that has imported what many tests start: it forks for each request, and runs the program in the fork."""

import json
import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn


def serve_forks(address: str, handle: Callable[[socket.socket], NoReturn]) -> NoReturn:
    """Print `ready`, and fork for each connection at this address to handle it."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        print("ready", flush=True)  # noqa: T201 - told to whoever started it
        while True:
            asking, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                handle(asking)
            asking.close()


def receive_request(asking: socket.socket, descriptors: int) -> tuple[list[Any], list[int]]:
    """Receive a list in JSON, after its length in four bytes, and so many file descriptors."""
    head, received, *_ = socket.recv_fds(asking, 4, descriptors)
    size, request = int.from_bytes(head, "big"), b""
    while len(request) < size:
        request += asking.recv(size - len(request))
    return json.loads(request), list(received)


def run_program(
    program: Callable[[], None],
    command: Sequence[str],
    folder: str,
    variables: Mapping[str, str],
    streams: Mapping[int, int],
) -> int:
    """Run a program as if this process had been started for it; return the exit code.

    `streams`: descriptor that takes the place of each standard one.
    """
    for standard, given in streams.items():
        os.dup2(given, standard)
    for given in set(streams.values()) - set(streams):
        os.close(given)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)
    sys.argv = list(command)
    code = 1
    try:
        program()
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:  # noqa: BLE001 - what an interpreter does with it
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    return code
