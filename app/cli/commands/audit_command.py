"""`recollect audit`: administrative acts."""

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
        _show_acts(entries)
    else:
        _show_reads(entries)


def _show_reads(entries: list[JsonObject]) -> None:
    table = Table(
        Column("when", no_wrap=True, min_width=20), "key", "from", "what", "for", "shown", box=None, pad_edge=False
    )
    for entry in entries:
        purpose = entry.get("purpose") or ""
        shown = ", ".join(entry["ids"][:IDS_SHOWN]) + (", …" if len(entry["ids"]) > IDS_SHOWN else "")
        table.add_row(
            f"{entry['at'][:19]}Z",
            escape(entry["key"]),
            escape(entry.get("address") or ""),
            entry["operation"],
            escape(purpose),
            escape(shown),
        )
    emit(entries, table, as_json=False, empty="recorded reads")


def _show_acts(entries: list[JsonObject]) -> None:
    table = Table(Column("when", no_wrap=True, min_width=20), "key", "from", "act", "about", box=None, pad_edge=False)
    for entry in entries:
        refused = "" if entry["outcome"] == "done" else "[red]refused:[/] "
        about = ", ".join(f"{name} {value}" for name, value in entry["details"].items())
        table.add_row(
            f"{entry['at'][:19]}Z",
            escape(entry["key"]),
            escape(entry.get("address") or ""),
            refused + entry["action"],
            escape(about),
        )
    emit(entries, table, as_json=False, empty="administrative acts")


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
