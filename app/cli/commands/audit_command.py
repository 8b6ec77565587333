"""`recollect audit`: administrative acts."""

from collections.abc import Callable
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Column, Table

from app.cli.commands.content_commands import check_namespace
from app.cli.conventions import ExitCode, emit, error_exit, say, to_json
from app.cli.remote_service import RemoteService
from app.cli.service_command import ServiceCall, app
from schemas.base import JsonObject

PAGE_SIZE = 1000
IDS_SHOWN = 5


@app.asks(
    "recollect audit",
    "recollect audit --limit 1000 --json > acts.jsonl",
    "recollect audit --reads alice --log-reads",
    "recollect audit --reads alice --json",
    json_option=Annotated[bool, typer.Option("--json", help="Write JSON lines, oldest first.")],
)
def audit(
    call: ServiceCall,
    *,
    limit: Annotated[int, typer.Option(min=1, help="The number of newest entries.")] = 50,
    reads: Annotated[
        str | None,
        typer.Option(callback=check_namespace, help="Show the recorded reads of this namespace instead."),
    ] = None,
    log_reads: Annotated[
        bool | None, typer.Option("--log-reads/--no-log-reads", help="With --reads: begin or end to record them.")
    ] = None,
) -> None:
    """Show administrative acts: who, what, when, and from where."""
    service = call.service
    if reads is None and log_reads is not None:
        raise error_exit("--log-reads: name the namespace with --reads.", ExitCode.USAGE)
    if reads is not None and log_reads is not None:
        service.request("PUT", f"/ns/{reads}/explain/recall-log", json={"recallLog": log_reads})
        emit({}, f"Reads of {reads} are {'' if log_reads else 'no longer '}recorded.", as_json=False)
        return
    path = "/admin/audit" if reads is None else f"/ns/{reads}/explain/recall-log"
    entries = _fetch_entries(service, path, limit)
    if call.as_json:
        for entry in reversed(entries):
            say(to_json(entry))
    elif reads is None:
        _show(entries, ("act", "about"), _act_cells, "administrative acts")
    else:
        _show(entries, ("what", "for", "shown"), _read_cells, "recorded reads")


def _show(
    entries: list[JsonObject], columns: tuple[str, ...], cells: Callable[[JsonObject], tuple[str, ...]], empty: str
) -> None:
    """Print entries as a table: when, with which key and from where, and further columns."""
    table = Table(Column("when", no_wrap=True, min_width=20), "key", "from", *columns, box=None, pad_edge=False)
    for entry in entries:
        address = escape(entry.get("address") or "")
        table.add_row(f"{entry['at'][:19]}Z", escape(entry["key"]), address, *cells(entry))
    emit(entries, table, as_json=False, empty=empty)


def _read_cells(entry: JsonObject) -> tuple[str, ...]:
    shown = ", ".join(entry["ids"][:IDS_SHOWN]) + (", …" if len(entry["ids"]) > IDS_SHOWN else "")
    return entry["operation"], escape(entry.get("purpose") or ""), escape(shown)


def _act_cells(entry: JsonObject) -> tuple[str, ...]:
    refused = "" if entry["outcome"] == "done" else "[red]refused:[/] "
    about = ", ".join(f"{name} {value}" for name, value in entry["details"].items())
    return refused + entry["action"], escape(about)


def _fetch_entries(service: RemoteService, path: str, limit: int) -> list[JsonObject]:
    entries: list[JsonObject] = []
    query: dict[str, int | str] = {}
    while len(entries) < limit:
        query["limit"] = min(PAGE_SIZE, limit - len(entries))
        page = service.request("GET", path, params=query)
        entries += page["entries"]
        if page["before"] is None:
            break
        query["before"] = page["before"]
    return entries
