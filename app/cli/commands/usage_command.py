"""`recollect usage`: documents and searches of a month."""

from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from app.cli.service_command import ServiceCall, app
from schemas.base import JsonObject


@app.asks("recollect usage", "recollect usage --month 2026-01 --json")
def usage(
    call: ServiceCall,
    *,
    month: Annotated[
        str | None, typer.Option(help="A month in UTC, such as 2026-01; default: the current one.")
    ] = None,
) -> None:
    """Show documents and searches of a month, per key and in total, with their quotas."""
    query = {} if month is None else {"month": month}
    answer = call.request("GET", "/admin/usage", params=query)
    title = f"{answer['month']} (UTC)"
    # Most keys have no budgets, and the columns make the table wide.
    budgets = [unit for unit in ("bytes", "tokens") if any(row[unit]["limit"] is not None for row in answer["keys"])]
    table = Table("key", "name", "documents", "searches", *budgets, "a minute", title=title, box=None, pad_edge=False)
    for column in table.columns[2:]:
        column.justify = "right"
    for row in answer["keys"]:
        rate = "" if row["rateLimit"] is None else f"{row['rateLimit']:,}"
        table.add_row(
            row["id"],
            escape(row["name"]),
            *(_format_used(row[unit]) for unit in ("documents", "searches", *budgets)),
            rate,
        )
    if answer["documents"] is not None:
        together = (_format_used(answer[unit]) for unit in ("documents", "searches"))
        table.add_row("", "all together", *together, *[""] * len(budgets), "")
    call.emit(answer, table)


def _format_used(quota: JsonObject) -> str:
    return f"{quota['used']:,}" if quota["limit"] is None else f"{quota['used']:,} of {quota['limit']:,}"
