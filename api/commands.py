"""The commands that talk to a running service over HTTP, as anybody could."""

import json
import sys
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from api.commandline import archive, audit, connectors, dlq, mcp, status, usage
from api.remote import Answer, Key, Service, Url, failure

app = typer.Typer(no_args_is_help=True, add_completion=False)
keys = typer.Typer(no_args_is_help=True, help="API keys.")
buckets = typer.Typer(no_args_is_help=True, help="Profile buckets of the whole organization.")
app.add_typer(keys, name="keys")
app.add_typer(buckets, name="buckets")
app.add_typer(dlq.dlq, name="dlq")
app.add_typer(connectors.connectors, name="connectors")
app.command()(status.status)
app.command()(usage.usage)
app.command()(audit.audit)
app.command(name="export")(archive.export)
app.command(name="import")(archive.take)
app.command()(mcp.mcp)

Namespace = Annotated[str, typer.Argument(help="The namespace.")]
WAIT_SECONDS = 300.0


@app.command()
def add(
    namespace: Namespace,
    text: Annotated[str | None, typer.Argument(help="Text or a URL; - reads standard input.")] = None,
    *,
    file: Annotated[Path | None, typer.Option(exists=True, dir_okay=False, help="A file.")] = None,
    id: Annotated[str | None, typer.Option(help="An id of your own.")] = None,  # noqa: A002 - the option's name
    metadata: Annotated[str | None, typer.Option(help="A JSON object.")] = None,
    wait: Annotated[bool, typer.Option(help="Return when it can be found.")] = False,
    url: Url = None,
    key: Key = None,
) -> None:
    """Remember a text, a web page or a file."""
    service = Service.of(url, key)
    if file is not None:
        form = {} if metadata is None else {"metadata": metadata}
        with file.open("rb") as data:
            path = f"/ns/{namespace}/document/file" + (f"/{id}" if id else "")
            answer = service.call("POST", path, files={"file": (file.name, data)}, data=form)
    elif text is not None:
        body: Answer = {"content": sys.stdin.read() if text == "-" else text, "id": id}
        body["metadata"] = None if metadata is None else _object(metadata)
        answer = service.call("POST", f"/ns/{namespace}/document", json=body)
    else:
        raise failure("Give a text, or --file.")
    if wait:
        _wait(service, namespace, answer["id"])
    typer.echo(answer["id"])


def _object(text: str) -> Answer:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise failure(f"This is not JSON: {text} ({error})") from error
    if not isinstance(value, dict):
        raise failure(f"This is not a JSON object: {text}")
    return value


def _wait(service: Service, namespace: str, document: str) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    status = "unknown"
    while time.monotonic() < deadline:
        status = service.call("GET", f"/ns/{namespace}/document/{document}")["system"]["status"]
        if status == "done":
            return
        if status == "failed":
            raise failure(f"{document} could not be read: `recollect status --failed` says why.")
        time.sleep(0.05)
    raise failure(f"{document} is still {status} after {WAIT_SECONDS:.0f} seconds.")


@app.command()
def search(
    namespace: Namespace,
    query: Annotated[str, typer.Argument(help="A question, or words.")],
    *,
    mode: Annotated[str, typer.Option(help="hybrid, memories or chunks.")] = "hybrid",
    limit: Annotated[int, typer.Option(min=1, max=100)] = 5,
    threshold: Annotated[float, typer.Option(min=0, max=1)] = 0.3,
    filter: Annotated[str | None, typer.Option(help="A filter expression as JSON.")] = None,  # noqa: A002 - the interface's word
    url: Url = None,
    key: Key = None,
) -> None:
    """Ask."""
    body: Answer = {"query": query, "searchMode": mode, "limit": limit, "threshold": threshold}
    body |= {"include": {"documents": True}} | ({} if filter is None else {"filter": _object(filter)})
    answer = Service.of(url, key).call("POST", f"/ns/{namespace}/search", json=body)
    console = Console()
    for result in answer["results"]:
        console.print(
            f"[bold]{result['similarity']:.2f}[/]  {escape(shown(result))}  [dim]{escape(source(result))}[/]"
        )
    console.print(f"[dim]{len(answer['results'])} results in {answer['searchTime']:.0f} ms[/]")


def shown(result: Answer) -> str:
    """The text of a result on one line."""
    return " ".join((result.get("memory") or result.get("chunk") or "").split())


def source(result: Answer) -> str:
    """What a result comes from."""
    document = (result.get("included") or {}).get("document") or {}
    return document.get("title") or document.get("id") or ""


@keys.command(name="create")
def create_key(
    name: Annotated[str, typer.Argument(help="Whose it is.")],
    *,
    role: Annotated[str, typer.Option(help="admin, write or read.")] = "write",
    namespace: Annotated[list[str] | None, typer.Option(help="A namespace or prefix (team-a:*).")] = None,
    expires_in_days: Annotated[int | None, typer.Option(min=1)] = None,
    rate_limit: Annotated[int | None, typer.Option(min=1, help="Requests a minute.")] = None,
    monthly_documents: Annotated[int | None, typer.Option(min=0, help="A quota.")] = None,
    monthly_searches: Annotated[int | None, typer.Option(min=0, help="A quota.")] = None,
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
    typer.echo(Service.of(url, key).call("POST", "/admin/keys", json=body)["key"])


@keys.command(name="list")
def list_keys(*, url: Url = None, key: Key = None) -> None:
    """All keys, without their secrets."""
    table = Table("id", "name", "role", "namespaces", "expires", "revoked", box=None)
    for row in Service.of(url, key).call("GET", "/admin/keys")["keys"]:
        scope = ", ".join(row["namespaces"] or ["all"])
        table.add_row(
            row["id"], row["name"], row["role"], scope, row["expiresAt"] or "", row["revokedAt"] or ""
        )
    Console().print(table)


@keys.command(name="rotate")
def rotate_key(
    id: str,  # noqa: A002 - shown in the usage
    *,
    overlap_hours: Annotated[
        int, typer.Option(min=0, help="How long the old secret opens as much; 0: from now on nothing.")
    ] = 24,
    expires_in_days: Annotated[int | None, typer.Option(min=1, help="From now; left out: as it was.")] = None,
    url: Url = None,
    key: Key = None,
) -> None:
    """Give a key a new secret and show it, once."""
    body = {"overlapHours": overlap_hours, "expiresInDays": expires_in_days}
    typer.echo(Service.of(url, key).call("POST", f"/admin/keys/{id}/rotate", json=body)["key"])


@keys.command(name="revoke")
def revoke_key(id: str, *, url: Url = None, key: Key = None) -> None:  # noqa: A002 - shown in the usage
    """End a key, at once."""
    Service.of(url, key).call("DELETE", f"/admin/keys/{id}")
    typer.echo(f"{id} opens nothing from now on")


@buckets.command(name="list")
def list_buckets(*, url: Url = None, key: Key = None) -> None:
    """The organization's buckets."""
    _show_buckets(Service.of(url, key).call("GET", "/admin/buckets"))


@buckets.command(name="set")
def set_bucket(name: str, description: str, *, url: Url = None, key: Key = None) -> None:
    """Add a bucket, or describe it anew."""
    _show_buckets(Service.of(url, key).call("PUT", "/admin/buckets", json={"buckets": {name: description}}))


@buckets.command(name="delete")
def delete_bucket(name: str, *, url: Url = None, key: Key = None) -> None:
    """Remove a bucket."""
    _show_buckets(Service.of(url, key).call("DELETE", "/admin/buckets", json={"buckets": [name]}))


def _show_buckets(answer: Answer) -> None:
    for name, description in answer["buckets"].items():
        typer.echo(f"{name}: {description}")
