"""`recollect connectors`: what they do, and what an operator does to them."""

from base64 import urlsafe_b64encode
from secrets import token_bytes
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from api.commandline.conventions import Json, examples, failure, say_of_none, show_json
from api.remote import Key, Service, Url

connectors = typer.Typer(no_args_is_help=True, help="Sources that namespaces are kept in step with.")

_WIDTH = 160
Connector = Annotated[str, typer.Argument(help="The id of a connector.")]


@connectors.command(
    name="list", epilog=examples("recollect connectors list", "recollect connectors list --json")
)
def list_connectors(*, as_json: Json = False, url: Url = None, key: Key = None) -> None:
    """Every connector and how its newest run stands, also while it is under way."""
    found = Service.of(url, key).call("GET", "/admin/connectors")["connectors"]
    if as_json:
        show_json(found)
        return
    say_of_none(found, "connectors")
    if not found:
        return
    names = ("Id", "Provider", "Namespace", "Account", "Documents", "Run", "Looked at", "Failed", "Told")
    table = Table(*names, box=None, pad_edge=False)
    for column in table.columns:
        column.overflow = "fold"
    table.columns[0].no_wrap = True
    for one in found:
        table.add_row(*map(escape, _row(one)))
    console = Console()
    # Ids are to be copied: a narrow terminal breaks lines rather than what stands in them.
    Console(width=max(console.width, _WIDTH)).print(table)


@connectors.command(
    epilog=examples("recollect connectors sync con_81ab", "recollect connectors sync con_81ab --full")
)
def sync(
    connector: Connector,
    *,
    full: Annotated[bool, typer.Option(help="List everything, whatever is known.")] = False,
    as_json: Json = False,
    url: Url = None,
    key: Key = None,
) -> None:
    """Let a connector run now."""
    answer = Service.of(url, key).call("POST", f"/admin/connectors/{connector}/sync", json={"full": full})
    if as_json:
        show_json(answer)
    else:
        typer.echo(answer["run"]["id"])


@connectors.command(
    epilog=examples("recollect connectors schedule con_81ab 1.5", "recollect connectors schedule con_81ab")
)
def schedule(
    connector: Connector,
    hours: Annotated[
        float | None, typer.Argument(help="Hours between runs; left out: as the service says.")
    ] = None,
    *,
    as_json: Json = False,
    url: Url = None,
    key: Key = None,
) -> None:
    """Set how often a connector runs by itself."""
    path = f"/admin/connectors/{connector}/schedule"
    answer = Service.of(url, key).call("PUT", path, json={} if hours is None else {"everyHours": hours})
    if as_json:
        show_json(answer)


@connectors.command(epilog=examples("recollect connectors handshakes"))
def handshakes(*, as_json: Json = False, url: Url = None, key: Key = None) -> None:
    """Show the verification tokens that providers sent to /webhooks, to be entered at their pages."""
    found = Service.of(url, key).call("GET", "/admin/connectors")["handshakes"]
    if as_json:
        show_json(found)
        return
    say_of_none(found, "verification tokens")
    for provider, token in found.items():
        typer.echo(f"{provider} {token}")


@connectors.command(epilog=examples("recollect connectors reseal"))
def reseal(*, as_json: Json = False, url: Url = None, key: Key = None) -> None:
    """Seal every credential with the newest of RECOLLECT_SECRET_KEY, so that older ones may go."""
    answer = Service.of(url, key).call("POST", "/admin/connectors/reseal")
    if as_json:
        show_json(answer)
    else:
        typer.echo(f"{answer['resealed']} credentials were sealed anew.")
    if answer["unreadable"]:
        whose = ", ".join(answer["unreadable"])
        raise failure(f"No key opens those of {whose}: add the key they were sealed with, or connect again.")


@connectors.command(name="key", epilog=examples("recollect connectors key"))
def make_key(*, as_json: Json = False) -> None:
    """Make a key for RECOLLECT_SECRET_KEY, which seals the credentials of connectors."""
    made = urlsafe_b64encode(token_bytes(32)).decode()
    if as_json:
        show_json({"key": made})
    else:
        typer.echo(made)


def _row(one: dict[str, Any]) -> list[str]:
    run = one["run"] or {}
    return [
        one["id"],
        one["provider"],
        one["namespace"] or "",
        one["account"] or "",
        f"{one['documents']}/{one['documentLimit']}",
        " ".join(filter(None, [one["status"] if one["status"] != "active" else "", run.get("status", "")])),
        str(run.get("processed", "")),
        str(run.get("failed", "")),
        run.get("error") or "",
    ]
