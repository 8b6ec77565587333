"""`recollect connectors`: their runs, schedules and credentials."""

from base64 import urlsafe_b64encode
from secrets import token_bytes
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from app.cli.conventions import JsonOption, Terminal, emit, error_exit, examples_epilog
from app.cli.service_command import CommandGroup, ServiceCall
from schemas.base import without_none

connectors = CommandGroup(no_args_is_help=True, help="Sources that namespaces are synchronized with.")

_MIN_TABLE_WIDTH = 160
Connector = Annotated[str, typer.Argument(help="The id of a connector.")]


@connectors.asks("recollect connectors list", "recollect connectors list --json", name="list")
def list_connectors(call: ServiceCall) -> None:
    """List connectors with the state of their newest run."""
    found = call.request("GET", "/admin/connectors")["connectors"]
    if call.as_json or not found:
        call.emit(found, empty="connectors")
        return
    names = ("Id", "Provider", "Namespace", "Account", "Documents", "Run", "Processed", "Failed", "Error")
    table = Table(*names, box=None, pad_edge=False)
    for column in table.columns:
        column.overflow = "fold"
    table.columns[0].no_wrap = True
    for connector in found:
        table.add_row(*map(escape, _table_row(connector)))
    # A narrow terminal shall break lines and not ids, which people copy.
    Terminal(width=max(Terminal().width, _MIN_TABLE_WIDTH)).print(table)


@connectors.asks("recollect connectors sync con_81ab", "recollect connectors sync con_81ab --full")
def sync(
    call: ServiceCall,
    connector: Connector,
    *,
    full: Annotated[bool, typer.Option(help="List every item, also those already synchronized.")] = False,
) -> None:
    """Start a run of a connector now."""
    answer = call.request("POST", f"/admin/connectors/{connector}/sync", json={"full": full})
    call.emit(answer, answer["run"]["id"])


@connectors.asks("recollect connectors schedule con_81ab 1.5", "recollect connectors schedule con_81ab")
def schedule(
    call: ServiceCall,
    connector: Connector,
    hours: Annotated[float | None, typer.Argument(help="Hours between runs; default: the service's setting.")] = None,
) -> None:
    """Set how often a connector runs on its own."""
    path = f"/admin/connectors/{connector}/schedule"
    body = {} if hours is None else {"syncIntervalHours": hours}
    call.emit(call.request("PUT", path, json=body))


@connectors.asks("recollect connectors options con_81ab --path 'src/**/*.py' --path '!**/generated/**'")
def options(
    call: ServiceCall,
    connector: Connector,
    *,
    path: Annotated[list[str] | None, typer.Option(help="Files to read beside documentation; !: to leave out.")] = None,
    branch: Annotated[str | None, typer.Option(help="Branch to read instead of the default branch.")] = None,
) -> None:
    """Set which files a GitHub connector reads, and of which branch; without options, documentation only."""
    body = {"branch": branch, "paths": path}
    answer = call.request("PUT", f"/admin/connectors/{connector}/options", json=body)
    call.emit(answer, "The options are set, and a run has begun.")


@connectors.asks("recollect connectors check con_81ab", "recollect connectors check")
def check(
    call: ServiceCall,
    connector: Annotated[str | None, typer.Argument(help="The id of a connector; default: all.")] = None,
) -> None:
    """Ask providers whether the credentials of connectors work."""
    listed = [] if connector else call.request("GET", "/admin/connectors")["connectors"]
    ids = [connector] if connector else [each["id"] for each in listed if each["status"] != "removed"]
    answers = {id_: call.request("POST", f"/admin/connectors/{id_}/check") for id_ in ids}
    lines = (f"{id_} {'works' if answer['ok'] else answer['message']}" for id_, answer in answers.items())
    call.emit(answers, *lines, empty="connectors")
    if failing := [id_ for id_, answer in answers.items() if not answer["ok"]]:
        raise error_exit(f"{len(failing)} of {len(ids)} connectors do not work: {', '.join(failing)}.")


@connectors.asks("recollect connectors reconnect con_81ab", "recollect connectors reconnect con_81ab --api-key grn_new")
def reconnect(
    call: ServiceCall,
    connector: Connector,
    *,
    api_key: Annotated[str | None, typer.Option(help="New API key (Granola).")] = None,
    access_key_id: Annotated[str | None, typer.Option(help="New access key id (S3).")] = None,
    secret_access_key: Annotated[str | None, typer.Option(help="New secret access key (S3).")] = None,
    session_token: Annotated[str | None, typer.Option(help="Token of temporary keys (S3).")] = None,
) -> None:
    """Give a connector new credentials, or print the link at which a user authorizes it anew."""
    body = without_none(
        apiKey=api_key,
        accessKeyId=access_key_id,
        secretAccessKey=secret_access_key,
        sessionToken=session_token,
    )
    answer = call.request("POST", f"/admin/connectors/{connector}/reconnect", json=body)
    call.emit(answer, answer["authorizationUrl"] or "The new credentials work, and a run has begun.")


@connectors.asks("recollect connectors handshakes")
def handshakes(call: ServiceCall) -> None:
    """Show the verification tokens that providers sent to /webhooks, for their settings pages."""
    answer = call.request("GET", "/admin/connectors")
    tokens = answer["verificationTokens"]
    lines = (f"{provider} {token}" for provider, token in tokens.items())
    call.emit(tokens, *lines, empty="verification tokens")


@connectors.asks("recollect connectors rotate-credentials", name="rotate-credentials")
def rotate_credentials(call: ServiceCall) -> None:
    """Encrypt credentials and secrets of standing questions with the newest RECOLLECT_SECRET_KEY; older keys can go."""
    answer = call.request("POST", "/admin/connectors/rotate-credentials")
    call.emit(answer, f"{answer['rotated']} credentials were encrypted again.")
    if answer["unreadable"]:
        raise error_exit(
            f"No key decrypts the credentials of {', '.join(answer['unreadable'])}: add the key that"
            " encrypted them to RECOLLECT_SECRET_KEY, or connect again."
        )


@connectors.command(name="key", epilog=examples_epilog("recollect connectors key"))
def make_key(*, as_json: JsonOption = False) -> None:
    """Create a key for RECOLLECT_SECRET_KEY, which encrypts the credentials of connectors."""
    key = urlsafe_b64encode(token_bytes(32)).decode()
    emit({"key": key}, key, as_json=as_json)


def _table_row(connector: dict[str, Any]) -> list[str]:
    run = connector["run"] or {}
    states = (connector["status"] if connector["status"] != "active" else "", run.get("status", ""))
    return [
        connector["id"],
        connector["provider"],
        connector["namespace"] or "",
        connector["account"] or "",
        f"{connector['documents']}/{connector['documentLimit']}",
        " ".join(filter(None, states)),
        str(run.get("processed", "")),
        str(run.get("failed", "")),
        run.get("error") or "",
    ]
