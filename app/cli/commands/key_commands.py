"""`recollect keys`: API keys and their limits."""

from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from app.cli.service_command import CommandGroup, ServiceCall
from schemas.base import JsonObject, without_none
from schemas.http.extensions.api_key_bodies import ROLE_SCOPES

keys = CommandGroup(no_args_is_help=True, help="API keys.")

KeyId = Annotated[str, typer.Argument(help="The id of a key, as `keys list` shows it.")]
ExpiresInDays = Annotated[int | None, typer.Option(min=1, help="Days until the key expires; default: never.")]

ScopeOption = Annotated[
    list[str] | None, typer.Option(help="read, write, forget, connect or admin; repeat it. Default: all of the role's.")
]
RateLimitOption = Annotated[int | None, typer.Option(min=1, help="Requests per minute.")]
QuotaOption = Annotated[int | None, typer.Option(min=0, help="A quota per month.")]
BudgetOption = Annotated[
    int | None, typer.Option(min=0, help="A budget per month: of what it adds, of what it is answered.")
]


@keys.asks(
    "recollect keys create laptop --role write --namespace alice",
    "recollect keys create dashboard --role read --namespace 'team-a:*' --expires-in-days 90",
    "recollect keys create intake --scope write --namespace alice",
    "recollect keys create app --rate-limit 600 --monthly-searches 100000 --json",
    name="create",
)
def create_key(
    call: ServiceCall,
    name: Annotated[str, typer.Argument(help="A name for the key.")],
    *,
    role: Annotated[str, typer.Option(help="admin, write or read.")] = "write",
    scope: ScopeOption = None,
    namespace: Annotated[list[str] | None, typer.Option(help="A namespace or prefix (team-a:*).")] = None,
    expires_in_days: ExpiresInDays = None,
    rate_limit: RateLimitOption = None,
    monthly_documents: QuotaOption = None,
    monthly_searches: QuotaOption = None,
    monthly_bytes: BudgetOption = None,
    monthly_tokens: BudgetOption = None,
) -> None:
    """Issue a key and show it once."""
    body = {
        "name": name,
        "role": role,
        "scopes": scope or None,
        "namespaces": namespace or None,
        "expiresInDays": expires_in_days,
        "rateLimit": rate_limit,
        "monthlyDocuments": monthly_documents,
        "monthlySearches": monthly_searches,
        "monthlyBytes": monthly_bytes,
        "monthlyTokens": monthly_tokens,
    }
    answer = call.request("POST", "/admin/keys", json=body)
    call.emit(answer, answer["key"])


@keys.asks("recollect keys list", "recollect keys list --json", name="list")
def list_keys(call: ServiceCall) -> None:
    """List all keys, without their secrets."""
    rows = call.request("GET", "/admin/keys")["keys"]
    # Most keys have no limits of their own, and the column makes the table wide.
    limited = any(map(_format_limits, rows))
    table = Table("id", "name", "role", "namespaces", "expires", "revoked", box=None)
    # Other commands take ids, so people copy them: never break one.
    table.columns[0].no_wrap = True
    if limited:
        table.add_column("limits", no_wrap=True)
    scoped = any(set(row["scopes"]) != ROLE_SCOPES[row["role"]] for row in rows)
    if scoped:
        table.add_column("may")
    for row in rows:
        scope = ", ".join(row["namespaces"] or ["all"])
        dates = row["expiresAt"] or "", row["revokedAt"] or ""
        limits = [_format_limits(row)] if limited else []
        may = [", ".join(row["scopes"]) or "nothing"] if scoped else []
        table.add_row(row["id"], escape(row["name"]), row["role"], escape(scope), *dates, *limits, *may)
    call.emit(rows, table, empty="keys")


def _format_limits(row: JsonObject) -> str:
    """Format the limits of a key, one per line, without those that follow the settings."""
    units = {
        "rateLimit": "a minute",
        "monthlyDocuments": "documents",
        "monthlySearches": "searches",
        "monthlyBytes": "bytes",
        "monthlyTokens": "tokens",
    }
    return "\n".join(f"{row[name]:,} {unit}" for name, unit in units.items() if row[name] is not None)


@keys.asks(
    "recollect keys change key_2f1c --monthly-searches 200000",
    "recollect keys change key_2f1c --rate-limit 600 --reset --json",
    name="change",
)
def change_key(
    call: ServiceCall,
    id: KeyId,  # noqa: A002
    *,
    name: Annotated[str | None, typer.Option(help="A new name.")] = None,
    expires_in_days: Annotated[int | None, typer.Option(min=1, help="Days from now; default: unchanged.")] = None,
    rate_limit: RateLimitOption = None,
    monthly_documents: QuotaOption = None,
    monthly_searches: QuotaOption = None,
    monthly_bytes: BudgetOption = None,
    monthly_tokens: BudgetOption = None,
    scope: ScopeOption = None,
    reset: Annotated[bool, typer.Option("--reset", help="What is not given follows settings and role.")] = False,
) -> None:
    """Change the name, the scopes, the limits or the expiry of a key."""
    limits = {
        "scopes": scope or None,
        "rateLimit": rate_limit,
        "monthlyDocuments": monthly_documents,
        "monthlySearches": monthly_searches,
        "monthlyBytes": monthly_bytes,
        "monthlyTokens": monthly_tokens,
    }
    body = without_none(name=name, expiresInDays=expires_in_days)
    body |= {option: value for option, value in limits.items() if reset or value is not None}
    answer = call.request("PATCH", f"/admin/keys/{id}", json=body)
    call.emit(answer, f"{answer['name']} ({id}) is changed")


@keys.asks("recollect keys rotate key_2f1c", "recollect keys rotate key_2f1c --overlap-hours 0 --json", name="rotate")
def rotate_key(
    call: ServiceCall,
    id: KeyId,  # noqa: A002
    *,
    overlap_hours: Annotated[int, typer.Option(min=0, help="Hours for which the old secret remains valid.")] = 24,
    expires_in_days: Annotated[int | None, typer.Option(min=1, help="Days from now; default: unchanged.")] = None,
) -> None:
    """Give a key a new secret and show it once."""
    body = {"overlapHours": overlap_hours, "expiresInDays": expires_in_days}
    answer = call.request("POST", f"/admin/keys/{id}/rotate", json=body)
    call.emit(answer, answer["key"])


@keys.asks("recollect keys revoke key_2f1c", name="revoke")
def revoke_key(call: ServiceCall, id: KeyId) -> None:  # noqa: A002
    """Revoke a key at once."""
    answer = call.request("DELETE", f"/admin/keys/{id}")
    call.emit(answer, f"{id} is revoked")
