"""Conventions of all commands: exit codes, output for people and for programs, examples in the help."""

import json
import sys
from enum import IntEnum
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

JsonOption = Annotated[bool, typer.Option("--json", help="Write JSON to standard output, for programs.")]


class ExitCode(IntEnum):
    """Exit codes, as docs/guides/commands.md lists them."""

    OK = 0
    FAILED = 1
    USAGE = 2
    """Invalid options, arguments or settings."""
    UNREACHABLE = 3
    """No service answers, or it is unavailable for now."""
    UNAUTHORIZED = 4
    """The key is missing, wrong, or lacks the permission."""
    NOT_FOUND = 5
    QUOTA_EXCEEDED = 6
    """A quota is used up, or there were too many requests."""
    INTERRUPTED = 130
    """Ctrl-C."""


_EXIT_CODE_BY_HTTP_STATUS = {
    401: ExitCode.UNAUTHORIZED,
    402: ExitCode.QUOTA_EXCEEDED,
    403: ExitCode.UNAUTHORIZED,
    404: ExitCode.NOT_FOUND,
    429: ExitCode.QUOTA_EXCEEDED,
    502: ExitCode.UNREACHABLE,
    503: ExitCode.UNREACHABLE,
    504: ExitCode.UNREACHABLE,
}


def exit_code_for_status(status: int) -> ExitCode:
    return _EXIT_CODE_BY_HTTP_STATUS.get(status, ExitCode.FAILED)


def error_exit(message: str, exit_code: ExitCode = ExitCode.FAILED) -> typer.Exit:
    """Print a message to standard error and return the exception to raise."""
    typer.echo(message, err=True)
    return typer.Exit(exit_code)


def confirm(question: str) -> None:
    """Ask on standard error; typer.Abort unless the answer is yes. Nothing is written to standard output."""
    typer.echo(f"{question} [y/N]: ", err=True, nl=False)
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        raise typer.Abort


def pluralize(count: int, noun: str, plural: str | None = None) -> str:
    """`1 result`, `2 results`; `plural` where an s is not enough."""
    return f"{count} {noun if count == 1 else plural or noun + 's'}"


def emit(value: Any, *lines: str | Table, as_json: bool, empty: str = "results") -> None:
    """Print a result: `value` as JSON for programs, else `lines`; says so where `value` is empty.

    `empty`: the plural noun of the items, for "There are no ...", which goes to standard error.
    """
    if as_json:
        typer.echo(json.dumps(value, indent=2, ensure_ascii=False))
    elif not value:
        typer.echo(f"There are no {empty}.", err=True)
    else:
        for line in lines:
            if isinstance(line, str):
                typer.echo(line)
            else:
                Console().print(line)


def examples_epilog(*lines: str) -> str:
    """Format examples as the end of a command's help; each line can be typed as it stands."""
    # Rich joins lines into one paragraph unless an empty line separates them.
    return "\n\n".join(["[bold]Examples[/]", *(f"  {escape(line)}" for line in lines)])
