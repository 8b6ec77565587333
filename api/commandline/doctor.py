"""`recollect doctor`: what keeps this deployment from working, and what to do about it."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import asdict
from functools import partial

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from api.commandline.conventions import counted
from pipeline.doctor import machine, parts
from pipeline.doctor.findings import Check, Finding, Found, examined
from pipeline.settings import Settings

_MARKS = {"ok": "[green]ok[/]", "warning": "[yellow]warning[/]", "problem": "[red]problem[/]"}


def examine(settings: Settings, see_key: Callable[[str], object], *, as_json: bool) -> None:
    """Look at every part and show what was found; typer.Exit 1 where there is a problem."""
    findings = asyncio.run(_examined(checks(settings, see_key)))
    worst = "problem" if any(one.state == "problem" for one in findings) else "ok"
    if as_json:
        typer.echo(json.dumps([asdict(one) for one in findings], indent=2, ensure_ascii=False))
    else:
        _show(findings)
    if worst == "problem":
        raise typer.Exit(1)


def checks(settings: Settings, see_key: Callable[[str], object]) -> dict[str, Check]:
    """By the part that each looks at."""

    async def clock() -> list[Found]:
        return await machine.clock(await parts.newest(settings))

    return {
        "Python": machine.python,
        "disk": partial(machine.disk, settings),
        "memory": partial(machine.memory, settings),
        "port": partial(machine.port, settings),
        "log": partial(parts.log, settings),
        "tables": partial(parts.tables, settings),
        "embedder": partial(parts.embedder, settings),
        "language model": partial(parts.language_model, settings),
        "Kafka": partial(parts.kafka, settings),
        "object store": partial(parts.object_store, settings),
        "secrets": partial(machine.secrets, settings, see_key),
        "clock": clock,
    }


async def _examined(parts_: dict[str, Check]) -> list[Finding]:
    found: list[Finding] = []
    with Console(stderr=True).status("Looking at Python…") as shown:
        names = [*parts_, ""]
        async for one in examined(parts_):
            found.append(one)
            shown.update(f"Looking at {names[names.index(one.part) + 1]}…")
    return found


def _show(findings: list[Finding]) -> None:
    table = Table(box=None, pad_edge=False, show_header=False)
    for one in findings:
        table.add_row(_MARKS[one.state], one.part, escape(one.says))
        if one.do:
            table.add_row("", "", f"[bold]→[/] {escape(one.do)}")
    Console().print(table)
    problems = sum(one.state == "problem" for one in findings)
    warnings = sum(one.state == "warning" for one in findings)
    found = f"{counted(problems, 'problem')}, {counted(warnings, 'warning')}."
    typer.echo(found if problems or warnings else "All is well.")
