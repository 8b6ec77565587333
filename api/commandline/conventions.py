"""What all commands have in common: how they end, what programs read, and examples in their help."""

import json
from collections.abc import Sized
from enum import IntEnum
from typing import Annotated, Any

import typer
from rich.markup import escape

Json = Annotated[bool, typer.Option("--json", help="For programs: JSON on standard output.")]


class Ending(IntEnum):
    """Exit codes. 130 is Ctrl-C; docs/guides/commands.md has them for people."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    """Options, arguments or settings that mean nothing."""
    UNREACHABLE = 3
    """No service answers, or it can't now: later it may."""
    REFUSED = 4
    """The key is missing, wrong, or not for this."""
    MISSING = 5
    USED_UP = 6
    """A quota, or too many requests."""
    INTERRUPTED = 130


_BY_STATUS = {
    401: Ending.REFUSED,
    402: Ending.USED_UP,
    403: Ending.REFUSED,
    404: Ending.MISSING,
    429: Ending.USED_UP,
    502: Ending.UNREACHABLE,
    503: Ending.UNREACHABLE,
    504: Ending.UNREACHABLE,
}


def ending_of(status: int) -> Ending:
    """How a command ends to which the service answers with this status."""
    return _BY_STATUS.get(status, Ending.FAILED)


def failure(message: str, ending: Ending = Ending.FAILED) -> typer.Exit:
    """Tell whoever typed the command; raise what is returned."""
    typer.echo(message, err=True)
    return typer.Exit(ending)


def counted(number: int, what: str) -> str:
    """`1 result`, `2 results`."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def say_of_none(found: Sized, what: str) -> None:
    """Where there is nothing to be shown, tell people so; what programs read stays empty."""
    if not found:
        typer.echo(f"There are no {what}.", err=True)


def show_json(value: Any) -> None:
    """For programs."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


def examples(*lines: str) -> str:
    """The end of a command's help; each line can be typed as it stands."""
    # An empty line ends a paragraph there; what has none is joined to one line.
    return "\n\n".join(["[bold]Examples[/]", *(f"  {escape(line)}" for line in lines)])
