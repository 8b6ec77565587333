"""`recollect replay` as one sees it: what it would do, how far it is, and what came of it."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import httpx2
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from api.commandline.conventions import Ending, failure, show_json
from api.remote import Answer, Service, local_key

Wish = Literal["replay", "plan", "rollback", "clean-up", "cancel"]
POLL_SECONDS = 0.5
PATH = "/admin/replay"


def answering(data_dir: Path) -> str | None:
    """Where the service of this data directory answers; None: none runs."""
    path = data_dir / "address"
    if not path.exists():
        return None
    address = path.read_text().strip()
    try:
        httpx2.get(f"{address}/health", timeout=5.0)
    except httpx2.TransportError:
        return None
    return address


def service(address: str, key: str | None) -> Service:
    """The service at an address."""
    secret = key or local_key()
    if secret is None:
        raise failure("No API key. Give --key or set RECOLLECT_API_KEY.", Ending.REFUSED)
    return Service.at(address, secret)


def wish(*, dry_run: bool, rollback: bool, clean_up: bool, cancel: bool) -> Wish:
    """What is asked for; typer.Exit when it is several things."""
    asked: dict[Wish, bool] = {"plan": dry_run, "rollback": rollback, "clean-up": clean_up, "cancel": cancel}
    given = [name for name, said in asked.items() if said]
    if len(given) > 1:
        raise failure("Give one of --dry-run, --rollback, --clean-up and --cancel.", Ending.USAGE)
    return given[0] if given else "replay"


def run(remote: Service, wish: Wish, body: Answer, *, as_json: bool) -> None:
    """Ask a running service, and watch it. Ctrl-C stops the watching, not the replay."""
    match wish:
        case "plan":
            show_plan(remote.call("POST", f"{PATH}/plan", json=body), as_json=as_json)
        case "clean-up":
            show_removed(remote.call("POST", f"{PATH}/clean-up")["removed"], as_json=as_json)
        case "cancel":
            remote.call("DELETE", PATH)
            if as_json:
                show_json(remote.call("GET", PATH))
            else:
                typer.echo("No replay runs; what is served is as it was.")
        case "rollback":
            remote.call("POST", f"{PATH}/rollback")
            _follow(remote, as_json=as_json)
        case "replay":
            remote.call("POST", PATH, json=body)
            _follow(remote, as_json=as_json)


def _follow(remote: Service, *, as_json: bool) -> None:
    try:
        asyncio.run(watch(lambda: remote.call("GET", PATH), as_json=as_json))
    except KeyboardInterrupt:
        typer.echo("The replay goes on in the service; `recollect replay --cancel` ends it.", err=True)
        raise typer.Exit(130) from None


async def watch(ask: Callable[[], Answer], *, as_json: bool = False) -> None:
    """A bar until it has ended; typer.Exit when it did not end well."""
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
        while (answer := ask())["state"] == "running":
            rate = answer["read"] / max(time.monotonic() - began, 0.001)
            bars.update(
                bar,
                description=answer["step"] or "Reading the log",
                total=answer["total"] or None,
                completed=answer["read"],
                rate=rate,
            )
            await asyncio.sleep(POLL_SECONDS)
    _show_end(answer, as_json=as_json)


def _show_end(answer: Answer, *, as_json: bool) -> None:
    if as_json:
        show_json(answer)
    for difference in answer["differences"]:
        typer.echo(f"otherwise than before: {difference}", err=True)
    if answer["state"] != "done":
        reason = answer["error"] or "it was cancelled"
        raise failure(f"The replay {answer['state']}: {reason}. What is served is as it was.")
    if not as_json:
        typer.echo(
            f"Generation {answer['generation']} is served, after {answer['read']:,} records of the log."
        )


def show_plan(plan: Answer, *, as_json: bool) -> None:
    """What a replay would read and write."""
    if as_json:
        show_json(plan)
        return
    table = Table(show_header=False, box=None)
    previous = "" if plan["previous"] is None else f" (a rollback would go to {plan['previous']})"
    table.add_row("served now", f"generation {plan['current']}{previous}")
    recipe = plan["recipe"]
    made = f"{recipe['embedder']}, chunks of {recipe['chunkSize']} characters, {recipe['shards']} shards"
    table.add_row("made with", made)
    for topic, count in plan["records"].items():
        table.add_row(f"read from {topic}", f"{count:,} records at most")
    for kind in ("documents", "chunks", "memories"):
        table.add_row(f"write {kind}", f"about {plan[kind]:,}")
    table.add_row("disk", f"about {plan['bytes'] / 1e6:,.0f} MB more, until the next replay or --clean-up")
    Console().print(table)


def show_removed(removed: list[int], *, as_json: bool) -> None:
    """Which generations went."""
    if as_json:
        show_json({"removed": removed})
        return
    names = ", ".join(map(str, removed))
    typer.echo(f"Removed generation {names}." if removed else "There was nothing to remove.")
