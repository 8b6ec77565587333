"""Conventions of all commands: exit codes, output for people and for programs, examples in the help."""

import json
import re
import sys
from enum import IntEnum
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

_CONTROL_PICTURES = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n"} | {0x7F: 0x2421}
_CONTROLS = _CONTROL_PICTURES | dict.fromkeys(range(0x80, 0xA0), 0xFFFD)
_CONTROL_OUTSIDE_ASCII = re.compile(r"[\x7f-\x9f]")
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
    400: ExitCode.USAGE,
    401: ExitCode.UNAUTHORIZED,
    402: ExitCode.QUOTA_EXCEEDED,
    403: ExitCode.UNAUTHORIZED,
    404: ExitCode.NOT_FOUND,
    429: ExitCode.QUOTA_EXCEEDED,
    502: ExitCode.UNREACHABLE,
    503: ExitCode.UNREACHABLE,
    504: ExitCode.UNREACHABLE,
}


class Terminal(Console):
    """Console that shows control characters of texts, which would steer the terminal: anybody may have written them."""

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(visible(text), **options)


def say(text: str = "", *, err: bool = False, nl: bool = True) -> None:
    """Print a text with its control characters shown."""
    typer.echo(visible(text), err=err, nl=nl)


def visible(text: str) -> str:
    r"""Return a text with pictures in place of control characters.

    >>> visible("\x1b]0;title\x07\tAda\n")
    '␛]0;title␇\tAda\n'
    """
    return text.translate(_CONTROLS)


def to_json(value: Any, indent: int | None = None) -> str:
    r"""Write JSON that holds no control character as it is.

    >>> to_json({"é": "\x1b\x9b"})
    '{"é": "\\u001b\\u009b"}'
    """
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    return _CONTROL_OUTSIDE_ASCII.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def exit_code_for_status(status: int) -> ExitCode:
    return _EXIT_CODE_BY_HTTP_STATUS.get(status, ExitCode.FAILED)


def error_exit(message: str, exit_code: ExitCode = ExitCode.FAILED) -> typer.Exit:
    """Print a message to standard error and return the exception to raise."""
    say(message, err=True)
    return typer.Exit(exit_code)


def confirm(question: str) -> None:
    """Ask on standard error; typer.Abort unless the answer is yes. Nothing is written to standard output."""
    say(f"{question} [y/N]: ", err=True, nl=False)
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
        typer.echo(to_json(value, indent=2))
    elif not value:
        say(f"There are no {empty}.", err=True)
    else:
        for line in lines:
            if isinstance(line, str):
                say(line)
            else:
                Terminal().print(line)


def examples_epilog(*lines: str) -> str:
    """Format examples as the end of a command's help; each line can be typed as it stands."""
    # Rich joins lines into one paragraph unless an empty line separates them.
    return "\n\n".join(["[bold]Examples[/]", *(f"  {escape(line)}" for line in lines)])
