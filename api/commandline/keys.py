"""`recollect keys`: who may ask, and for what."""

from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from api.commandline.conventions import Json, examples, show_json
from api.remote import Answer, Key, Service, Url

keys = typer.Typer(no_args_is_help=True, help="API keys.")

Id = Annotated[str, typer.Argument(help="The id of a key, as `keys list` shows it.")]
Days = Annotated[int | None, typer.Option(min=1, help="Until it opens nothing any more; left out: for ever.")]

Rate = Annotated[int | None, typer.Option(min=1, help="Requests a minute.")]
Quota = Annotated[int | None, typer.Option(min=0, help="A quota.")]


@keys.command(
    name="create",
    epilog=examples(
        "recollect keys create laptop --role write --namespace alice",
        "recollect keys create dashboard --role read --namespace 'team-a:*' --expires-in-days 90",
        "recollect keys create app --rate-limit 600 --monthly-searches 100000 --json",
    ),
)
def create_key(
    name: Annotated[str, typer.Argument(help="Whose it is.")],
    *,
    role: Annotated[str, typer.Option(help="admin, write or read.")] = "write",
    namespace: Annotated[list[str] | None, typer.Option(help="A namespace or prefix (team-a:*).")] = None,
    expires_in_days: Days = None,
    rate_limit: Rate = None,
    monthly_documents: Quota = None,
    monthly_searches: Quota = None,
    as_json: Json = False,
    url: Url = None,
    key: Key = None,
) -> None:
    """Issue a key and show it, once."""
    body = {
        "name": name,
        "role": role,
        "namespaces": namespace or None,
        "expiresInDays": expires_in_days,
        "rateLimit": rate_limit,
        "monthlyDocuments": monthly_documents,
        "monthlySearches": monthly_searches,
    }
    answer = Service.of(url, key).call("POST", "/admin/keys", json=body)
    if as_json:
        show_json(answer)
    else:
        typer.echo(answer["key"])


@keys.command(name="list", epilog=examples("recollect keys list", "recollect keys list --json"))
def list_keys(*, as_json: Json = False, url: Url = None, key: Key = None) -> None:
    """All keys, without their secrets."""
    found = Service.of(url, key).call("GET", "/admin/keys")["keys"]
    if as_json:
        show_json(found)
        return
    # Most keys have none of their own, and the table is wide without them.
    limited = any(map(_limits, found))
    table = Table("id", "name", "role", "namespaces", "expires", "revoked", box=None)
    # What other commands are given stays in one piece, however narrow the screen is.
    table.columns[0].no_wrap = True
    if limited:
        table.add_column("limits", no_wrap=True)
    for row in found:
        scope = ", ".join(row["namespaces"] or ["all"])
        dates = row["expiresAt"] or "", row["revokedAt"] or ""
        limits = [_limits(row)] if limited else []
        table.add_row(row["id"], escape(row["name"]), row["role"], escape(scope), *dates, *limits)
    Console().print(table)


def _limits(row: Answer) -> str:
    """Of the key itself: what is not said is as the settings say."""
    said = (("rateLimit", "a minute"), ("monthlyDocuments", "documents"), ("monthlySearches", "searches"))
    return "\n".join(f"{row[name]:,} {what}" for name, what in said if row[name] is not None)


@keys.command(
    name="change",
    epilog=examples(
        "recollect keys change key_2f1c --monthly-searches 200000",
        "recollect keys change key_2f1c --rate-limit 600 --reset --json",
    ),
)
def change_key(
    id: Id,  # noqa: A002 - shown in the usage
    *,
    name: Annotated[str | None, typer.Option(help="Whose it is.")] = None,
    expires_in_days: Annotated[int | None, typer.Option(min=1, help="From now; left out: as it was.")] = None,
    rate_limit: Rate = None,
    monthly_documents: Quota = None,
    monthly_searches: Quota = None,
    reset: Annotated[
        bool, typer.Option("--reset", help="Limits that are not given are those of the service.")
    ] = False,
    as_json: Json = False,
    url: Url = None,
    key: Key = None,
) -> None:
    """Change what a key is called, how much it may and until when."""
    limits = {
        "rateLimit": rate_limit,
        "monthlyDocuments": monthly_documents,
        "monthlySearches": monthly_searches,
    }
    said: dict[str, str | int | None] = {"name": name, "expiresInDays": expires_in_days}
    body: dict[str, str | int | None] = {option: value for option, value in said.items() if value is not None}
    body |= {option: value for option, value in limits.items() if reset or value is not None}
    answer = Service.of(url, key).call("PATCH", f"/admin/keys/{id}", json=body)
    if as_json:
        show_json(answer)
    else:
        typer.echo(f"{answer['name']} ({id}) is changed")


@keys.command(
    name="rotate",
    epilog=examples(
        "recollect keys rotate key_2f1c", "recollect keys rotate key_2f1c --overlap-hours 0 --json"
    ),
)
def rotate_key(
    id: Id,  # noqa: A002 - shown in the usage
    *,
    overlap_hours: Annotated[
        int, typer.Option(min=0, help="How long the old secret opens as much; 0: from now on nothing.")
    ] = 24,
    expires_in_days: Annotated[int | None, typer.Option(min=1, help="From now; left out: as it was.")] = None,
    as_json: Json = False,
    url: Url = None,
    key: Key = None,
) -> None:
    """Give a key a new secret and show it, once."""
    body = {"overlapHours": overlap_hours, "expiresInDays": expires_in_days}
    answer = Service.of(url, key).call("POST", f"/admin/keys/{id}/rotate", json=body)
    if as_json:
        show_json(answer)
    else:
        typer.echo(answer["key"])


@keys.command(name="revoke", epilog=examples("recollect keys revoke key_2f1c"))
def revoke_key(id: Id, *, as_json: Json = False, url: Url = None, key: Key = None) -> None:  # noqa: A002 - shown in the usage
    """End a key, at once."""
    answer = Service.of(url, key).call("DELETE", f"/admin/keys/{id}")
    if as_json:
        show_json(answer)
    else:
        typer.echo(f"{id} opens nothing from now on")
