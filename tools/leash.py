"""What was started for a while ends with whoever started it, however that one ends."""

import subprocess

_WATCH = 'read -r _; kill -TERM "$1"'
"""A pipe that only its starter holds ends with that one, be it by SIGKILL. The kernel's own signal for it
(PR_SET_PDEATHSIG) would come at the end of the thread that started it, too."""


def leash(pid: int) -> "subprocess.Popen[bytes]":
    """What ends a process (SIGTERM) when the caller's has ended; `unleash` takes it off again."""
    # A session of its own: Ctrl-C is for its starter, who then stops what it started in order.
    return subprocess.Popen(
        ["sh", "-c", _WATCH, "leash", str(pid)], stdin=subprocess.PIPE, start_new_session=True
    )


def unleash(leashed: "subprocess.Popen[bytes] | None") -> None:
    """What it would have ended has ended, or never was."""
    if leashed is not None:
        leashed.kill()
        leashed.communicate()
