"""Watchdog that ends a child process when its parent ends, however the parent ends."""

import subprocess

_WATCH_SCRIPT = 'read -r _; kill -TERM "$1"'
"""Shell script that reads a pipe held only by the parent and then terminates process $1. The pipe closes even
after SIGKILL. PR_SET_PDEATHSIG would also fire when only the starting thread ends."""


def start_watchdog(pid: int) -> "subprocess.Popen[bytes]":
    """Start a watchdog that sends SIGTERM to `pid` when this process has ended."""
    # In a session of its own, so that Ctrl-C reaches only the parent, which then stops its children in order.
    return subprocess.Popen(
        ["sh", "-c", _WATCH_SCRIPT, "watchdog", str(pid)], stdin=subprocess.PIPE, start_new_session=True
    )


def stop_watchdog(watchdog: "subprocess.Popen[bytes] | None") -> None:
    """Stop a watchdog; call it after the watched process has ended."""
    if watchdog is not None:
        watchdog.kill()
        watchdog.communicate()
