"""`recollect audit`: who administered the service."""

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from api.commandline.conventions import examples, say_of_none
from api.remote import Answer, Key, Service, Url

EXAMPLES = examples("recollect audit", "recollect audit --limit 1000 --json > acts.jsonl")
PAGE = 1000


def audit(
    *,
    limit: Annotated[int, typer.Option(min=1, help="How many of the newest.")] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="JSON Lines, oldest first.")] = False,
    url: Url = None,
    key: Key = None,
) -> None:
    """Administrative acts: who, what, when, and from where."""
    acts = _acts(Service.of(url, key), limit)
    if as_json:
        for act in reversed(acts):
            typer.echo(json.dumps(act, ensure_ascii=False))
        return
    say_of_none(acts, "administrative acts")
    if not acts:
        return
    table = Table("when", "key", "from", "act", "about", box=None, pad_edge=False)
    for act in acts:
        what = act["act"] if act["outcome"] == "done" else f"[red]refused:[/] {act['act']}"
        about = ", ".join(f"{name} {value}" for name, value in act["details"].items())
        table.add_row(
            f"{act['at'][:19]}Z", escape(act["key"]), escape(act["address"] or ""), what, escape(about)
        )
    Console().print(table)


def _acts(service: Service, limit: int) -> list[Answer]:
    """The newest, page by page."""
    acts: list[Answer] = []
    before: int | None = None
    while len(acts) < limit:
        query = {"limit": min(PAGE, limit - len(acts))} | ({} if before is None else {"before": before})
        answer = service.call("GET", "/admin/audit", params=query)
        acts += answer["acts"]
        before = answer["before"]
        if before is None:
            break
    return acts
