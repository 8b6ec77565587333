"""`recollect usage`: what was used in a month."""

from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from api.commandline.conventions import Json, examples, show_json
from api.remote import Answer, Key, Service, Url

EXAMPLES = examples("recollect usage", "recollect usage --month 2026-01 --json")


def usage(
    *,
    month: Annotated[str | None, typer.Option(help="Such as 2026-01, in UTC; the present one.")] = None,
    as_json: Json = False,
    url: Url = None,
    key: Key = None,
) -> None:
    """Documents and searches of a month, by key and in all, beside their quotas."""
    query = {} if month is None else {"month": month}
    answer = Service.of(url, key).call("GET", "/admin/usage", params=query)
    if as_json:
        show_json(answer)
        return
    title = f"{answer['month']} (UTC)"
    table = Table("key", "name", "documents", "searches", "a minute", title=title, box=None, pad_edge=False)
    for column in table.columns[2:]:
        column.justify = "right"
    for row in answer["keys"]:
        rate = "" if row["rateLimit"] is None else f"{row['rateLimit']:,}"
        table.add_row(row["id"], escape(row["name"]), _of(row["documents"]), _of(row["searches"]), rate)
    if answer["documents"] is not None:
        table.add_row("", "all together", _of(answer["documents"]), _of(answer["searches"]), "")
    Console().print(table)


def _of(used: Answer) -> str:
    return f"{used['used']:,}" if used["limit"] is None else f"{used['used']:,} of {used['limit']:,}"
