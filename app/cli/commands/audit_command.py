"""`recollect audit`: administrative acts."""

import json
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from app.cli.conventions import emit, examples_epilog
from app.cli.remote_service import JsonObject, Key, RemoteService, Url

EXAMPLES = examples_epilog("recollect audit", "recollect audit --limit 1000 --json > acts.jsonl")
PAGE_SIZE = 1000


def audit(
    *,
    limit: Annotated[int, typer.Option(min=1, help="The number of newest entries.")] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON lines, oldest first.")] = False,
    url: Url = None,
    key: Key = None,
) -> None:
    """Show administrative acts: who, what, when, and from where."""
    entries = _fetch_entries(RemoteService.from_options(url, key), limit)
    if as_json:
        for entry in reversed(entries):
            typer.echo(json.dumps(entry, ensure_ascii=False))
        return
    table = Table("when", "key", "from", "act", "about", box=None, pad_edge=False)
    for entry in entries:
        refused = "" if entry["outcome"] == "done" else "[red]refused:[/] "
        about = ", ".join(f"{name} {value}" for name, value in entry["details"].items())
        table.add_row(
            f"{entry['at'][:19]}Z",
            escape(entry["key"]),
            escape(entry["address"] or ""),
            refused + entry["action"],
            escape(about),
        )
    emit(entries, table, as_json=False, empty="administrative acts")


def _fetch_entries(service: RemoteService, limit: int) -> list[JsonObject]:
    """Fetch the newest entries, page by page."""
    entries: list[JsonObject] = []
    query: dict[str, int] = {}
    while len(entries) < limit:
        query["limit"] = min(PAGE_SIZE, limit - len(entries))
        page = service.request("GET", "/admin/audit", params=query)
        entries += page["entries"]
        if page["before"] is None:
            break
        query["before"] = page["before"]
    return entries
