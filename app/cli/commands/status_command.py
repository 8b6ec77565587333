"""`recollect status`: the whole service on one screen."""

from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from app.cli.conventions import Terminal, emit, pluralize
from app.cli.service_command import ServiceCall, app
from schemas.base import JsonObject

BYTE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


@app.asks("recollect status", "recollect status --failed", "recollect status --json | jq .stages")
def status(
    call: ServiceCall,
    *,
    failed: Annotated[bool, typer.Option(help="List only documents that could not be read, with the reason.")] = False,
) -> None:
    """Show the contents, how far the pipeline is behind, and what went wrong."""
    service = call.service
    if failed:
        documents = service.request("GET", "/admin/failed")["documents"]
        lines = (f"{document['namespace']}/{document['id']}: {document['error']}" for document in documents)
        call.emit(documents, *lines, empty="documents that could not be read")
        return
    answer = service.request("GET", "/admin/status")
    if call.as_json:
        emit({"address": service.address, **answer}, as_json=True)
        return
    console = Terminal()
    for table in (
        _service_table(service.address, answer),
        _contents_table(answer),
        _lag_table(answer),
        _problems_table(answer),
    ):
        if table.row_count:
            console.print(table, "")


def _new_table(title: str, *columns: str) -> Table:
    table = Table(*columns, title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    table.show_header = any(columns)
    return table


def _service_table(address: str, answer: JsonObject) -> Table:
    table = _new_table("Service", "", "")
    table.add_row("address", escape(address))
    table.add_row("version", answer["version"])
    table.add_row("bus", escape(answer["bus"]))
    reasons = [f"{issue['part']}: {issue['reason']}" for issue in answer["healthIssues"]]
    table.add_row("ready", "[red]no[/], " + escape("; ".join(reasons)) if reasons else "[green]yes[/]")
    if (replay := answer.get("replay")) is not None:
        share = replay["read"] / max(1, replay["total"])
        table.add_row("replay", f"{replay['step']}, {share:.0%} of {replay['total']:,} records read")
    disk = answer["disk"]
    table.add_row("tables", format_bytes(disk["tables"]))
    table.add_row("log", format_bytes(disk["log"]))
    table.add_row("free", format_bytes(disk["free"]))
    return table


def _contents_table(answer: JsonObject) -> Table:
    table = _new_table("Contents", "", "")
    table.columns[1].justify = "right"
    table.add_row("namespaces", f"{answer['namespaces']:,}")
    for name, count in answer["documents"].items():
        table.add_row(f"documents {name}", f"{count:,}")
    table.add_row("chunks", f"{answer['chunks']:,}")
    table.add_row("memories", f"{answer['memories']:,}")
    return table


def _lag_table(answer: JsonObject) -> Table:
    table = _new_table("Records not yet handled", "stage", "topic", "lag")
    table.columns[2].justify = "right"
    for stage in answer["stages"]:
        count = f"{stage['lag']:,}"
        table.add_row(stage["stage"], stage["topic"], f"[yellow]{count}[/]" if stage["lag"] else count)
    return table


def _problems_table(answer: JsonObject) -> Table:
    table = _new_table("What went wrong", "where", "why")
    for topic, count in answer["deadLetters"].items():
        table.add_row(f"{pluralize(count, 'dead letter')} of {topic}", "recollect dlq list")
    for document in answer["delayed"]:
        where = f"memories of {document['namespace']}/{document['id']} wait"
        table.add_row(escape(where), escape(document["error"]))
    if (more := answer["delayedCount"] - len(answer["delayed"])) > 0:
        table.add_row(f"memories of {more:,} other documents wait", "")
    for document in answer["failures"]:
        table.add_row(escape(f"{document['namespace']}/{document['id']}"), escape(document["error"]))
    return table


def format_bytes(count: int | None) -> str:
    """Format a number of bytes with a binary unit.

    >>> format_bytes(1536)
    '1.5 KiB'
    """
    if count is None:
        return "elsewhere"
    value = float(count)
    for unit in BYTE_UNITS:
        if value < 1024 or unit == BYTE_UNITS[-1]:
            break
        value /= 1024
    return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
