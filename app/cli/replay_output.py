"""Output of `recollect replay`: plan, progress and outcome."""

import asyncio
import time
from collections.abc import Callable
from typing import Literal

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from app.cli.conventions import emit, error_exit
from app.cli.remote_service import JsonObject

ReplayAction = Literal["replay", "plan", "rollback", "clean-up", "cancel"]
POLL_INTERVAL_SECONDS = 0.5


async def watch_progress(get_progress: Callable[[], JsonObject], *, as_json: bool = False) -> None:
    """Show a progress bar until the replay ends; typer.Exit unless it ended well."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("records, {task.fields[rate]:,.0f}/s"),
        TimeRemainingColumn(),
    )
    began = time.monotonic()
    with Progress(*columns, console=Console(stderr=True)) as bars:
        bar = bars.add_task("Reading the log", total=None, rate=0.0)
        while (progress := get_progress())["state"] == "running":
            bars.update(
                bar,
                description=progress["step"] or "Reading the log",
                total=progress["total"] or None,
                completed=progress["read"],
                rate=progress["read"] / max(time.monotonic() - began, 0.001),
            )
            await asyncio.sleep(POLL_INTERVAL_SECONDS)
    for difference in progress["differences"]:
        typer.echo(f"differs from before: {difference}", err=True)
    served = f"Generation {progress['generation']} is served, after {progress['read']:,} records of the log."
    done = progress["state"] == "done"
    emit(progress, *([served] if done else []), as_json=as_json)
    if not done:
        reason = progress["error"] or "it was cancelled"
        raise error_exit(f"The replay {progress['state']}: {reason}. The served tables are unchanged.")


def emit_plan(plan: JsonObject, *, as_json: bool) -> None:
    """Print what a replay would read and write."""
    table = Table(show_header=False, box=None)
    previous = "" if plan["previous"] is None else f" (a rollback would go to {plan['previous']})"
    table.add_row("served now", f"generation {plan['current']}{previous}")
    config = plan["indexConfig"]
    chunks = f"chunks of {config['chunkSize']} characters"
    table.add_row("built with", f"{config['embedder']}, {chunks}, {config['shards']} shards")
    for topic, count in plan["records"].items():
        table.add_row(f"read from {topic}", f"{count:,} records at most")
    for kind in ("documents", "chunks", "memories"):
        table.add_row(f"write {kind}", f"about {plan[kind]:,}")
    table.add_row("disk", f"about {plan['bytes'] / 1e6:,.0f} MB more, until the next replay or --clean-up")
    emit(plan, table, as_json=as_json)


def emit_removed(removed: list[int], *, as_json: bool) -> None:
    """Print the numbers of the removed generations."""
    names = ", ".join(map(str, removed))
    text = f"Removed generation {names}." if removed else "There was nothing to remove."
    emit({"removed": removed}, text, as_json=as_json)
