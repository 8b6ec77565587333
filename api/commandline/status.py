"""`recollect status`: the whole service on one screen."""

from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from api.commandline.conventions import Json, examples, say_of_none, show_json
from api.remote import Answer, Key, Service, Url

EXAMPLES = examples("recollect status", "recollect status --failed", "recollect status --json | jq .stages")
UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def status(
    *,
    failed: Annotated[bool, typer.Option(help="Only the documents that could not be read, and why.")] = False,
    as_json: Json = False,
    url: Url = None,
    key: Key = None,
) -> None:
    """How much there is, how far the pipeline is behind, and what went wrong."""
    service = Service.of(url, key)
    if failed:
        documents = service.call("GET", "/admin/failed")["documents"]
        if as_json:
            show_json(documents)
            return
        say_of_none(documents, "documents that could not be read")
        for document in documents:
            typer.echo(f"{document['namespace']}/{document['id']}: {document['error']}")
        return
    answer = service.call("GET", "/admin/status")
    if as_json:
        show_json({"address": service.address, **answer})
        return
    console = Console()
    for table in (_service(service.address, answer), _contents(answer), _stages(answer), _troubles(answer)):
        if table.row_count:
            console.print(table, "")


def _table(title: str, *columns: str) -> Table:
    table = Table(*columns, title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    table.show_header = any(columns)
    return table


def _service(address: str, answer: Answer) -> Table:
    table = _table("Service", "", "")
    table.add_row("address", escape(address))
    table.add_row("version", answer["version"])
    table.add_row("bus", escape(answer["bus"]))
    reasons = [f"{one['part']}: {one['reason']}" for one in answer["notReady"]]
    table.add_row("ready", "[red]no[/], " + escape("; ".join(reasons)) if reasons else "[green]yes[/]")
    if (replay := answer.get("replay")) is not None:
        share = replay["read"] / max(1, replay["total"])
        table.add_row("replay", f"{replay['step']}, {share:.0%} of {replay['total']:,} records read")
    disk = answer["disk"]
    table.add_row("tables", shown_bytes(disk["tables"]))
    table.add_row("log", shown_bytes(disk["log"]))
    table.add_row("free", shown_bytes(disk["free"]))
    return table


def _contents(answer: Answer) -> Table:
    table = _table("Contents", "", "")
    table.columns[1].justify = "right"
    table.add_row("namespaces", f"{answer['namespaces']:,}")
    for name, count in answer["documents"].items():
        table.add_row(f"documents {name}", f"{count:,}")
    table.add_row("chunks", f"{answer['chunks']:,}")
    table.add_row("memories", f"{answer['memories']:,}")
    return table


def _stages(answer: Answer) -> Table:
    table = _table("Records not yet handled", "stage", "topic", "lag")
    table.columns[2].justify = "right"
    for one in answer["stages"]:
        count = f"{one['lag']:,}"
        table.add_row(one["stage"], one["topic"], f"[yellow]{count}[/]" if one["lag"] else count)
    return table


def _troubles(answer: Answer) -> Table:
    table = _table("What went wrong", "where", "why")
    for topic, count in answer["deadLetters"].items():
        table.add_row(f"{count:,} dead letters of {topic}", "recollect dlq list")
    for one in answer["waiting"]:
        where = f"memories of {one['namespace']}/{one['id']} wait"
        table.add_row(escape(where), escape(one["error"]))
    if (more := answer["waitingCount"] - len(answer["waiting"])) > 0:
        table.add_row(f"memories of {more:,} other documents wait", "")
    for one in answer["failures"]:
        table.add_row(escape(f"{one['namespace']}/{one['id']}"), escape(one["error"]))
    return table


def shown_bytes(count: int | None) -> str:
    """A number of bytes for people.

    >>> shown_bytes(1536)
    '1.5 KiB'
    """
    if count is None:
        return "elsewhere"
    value = float(count)
    for unit in UNITS:
        if value < 1024 or unit == UNITS[-1]:
            break
        value /= 1024
    return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
