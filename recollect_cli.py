"""The commands that talk to a running service over HTTP, as anybody could."""

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import httpx2
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pipeline.settings import Settings

app = typer.Typer(no_args_is_help=True, add_completion=False)
keys = typer.Typer(no_args_is_help=True, help="API keys.")
buckets = typer.Typer(no_args_is_help=True, help="Profile buckets of the whole organization.")
dlq = typer.Typer(no_args_is_help=True, help="Dead letters: records that could not be handled.")
app.add_typer(keys, name="keys")
app.add_typer(buckets, name="buckets")
app.add_typer(dlq, name="dlq")

Url = Annotated[str | None, typer.Option(envvar="RECOLLECT_URL", help="Where the service answers.")]
Key = Annotated[str | None, typer.Option(envvar="RECOLLECT_API_KEY", help="An API key.")]
Namespace = Annotated[str, typer.Argument(help="The namespace.")]
PAGE = 100
WAIT_SECONDS = 300.0
Answer = dict[str, Any]


def failure(message: str) -> typer.Exit:
    """Tell whoever typed the command; raise what is returned."""
    typer.echo(message, err=True)
    return typer.Exit(1)


class Service:
    """A running service, and a key for it."""

    def __init__(self, client: httpx2.Client) -> None:
        self._client = client

    @classmethod
    def of(cls, url: str | None, key: str | None) -> "Service":
        """From the options, the environment, or what the data directory on this machine says."""
        address = url or local_address()
        if address is None:
            raise failure("No service found here. Start one with `recollect serve`, or give --url.")
        secret = key or local_key()
        if secret is None:
            raise failure("No API key. Give --key or set RECOLLECT_API_KEY.")
        return cls.at(address, secret)

    @classmethod
    def at(cls, url: str, key: str) -> "Service":
        """At this address."""
        headers = {"Authorization": f"Bearer {key}"}
        return cls(httpx2.Client(base_url=url, headers=headers, timeout=60.0))

    def call(self, method: str, path: str, **options: Any) -> Answer:
        """The answer as a dictionary; typer.Exit with the service's own words on standard error otherwise."""
        try:
            response = self._client.request(method, path, **options)
        except httpx2.TransportError as error:
            raise failure(f"No answer from {self._client.base_url}: {error}") from error
        if response.is_success:
            answer: Answer = response.json()
            return answer
        raise failure(f"{response.status_code}: {_complaint(response)}")

    def pages(self, path: str, body: Answer, kind: str) -> Iterator[Answer]:
        """The items of a list, oldest first."""
        page, last = 1, 1
        while page <= last:
            query = {"page": page, "limit": PAGE, "order": "asc"}
            answer = self.call("POST", path, params=query, json=body)
            yield from answer[kind]
            page, last = page + 1, answer["pagination"]["totalPages"]


def local_address() -> str | None:
    """Where the server of this machine's data directory answers; None: there is none."""
    path = Settings().data_dir / "address"
    return path.read_text().split()[0] if path.exists() else None


def local_key() -> str | None:
    """The admin key of the settings, if one is set."""
    key = Settings().admin_key
    return None if key is None else key.get_secret_value()


def _complaint(response: httpx2.Response) -> str:
    try:
        body = response.json()
    except json.JSONDecodeError:
        return response.text[:500]
    error = body.get("error")
    if isinstance(error, list):
        return "; ".join(f"{'.'.join(map(str, part.get('path', [])))}: {part['message']}" for part in error)
    return ". ".join(part.rstrip(".") for part in (error, body.get("details")) if part)


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


@app.command()
def status(
    *,
    failed: Annotated[bool, typer.Option(help="The documents that could not be read, and why.")] = False,
    url: Url = None,
    key: Key = None,
) -> None:
    """How much there is, how far the pipeline is behind, and what went wrong."""
    service = Service.of(url, key)
    if failed:
        for document in service.call("GET", "/admin/failed")["documents"]:
            typer.echo(f"{document['namespace']}/{document['id']}: {document['error']}")
        return
    answer = service.call("GET", "/admin/status")
    table = Table(show_header=False, box=None)
    table.add_row("namespaces", f"{answer['namespaces']:,}")
    for name, count in answer["documents"].items():
        table.add_row(f"documents {name}", f"{count:,}")
    for group, lag in answer["lag"].items():
        table.add_row(f"lag of {group}", f"{lag:,}")
    for topic, count in answer["deadLetters"].items():
        table.add_row(f"dead letters of {topic}", f"{count:,}")
    Console().print(table)


@app.command()
def demo(*, url: Url = None, key: Key = None) -> None:
    """Remember the descriptions of the installed packages, then ask five questions."""
    from bench import demo as demonstration  # noqa: PLC0415 - nothing else needs it

    demonstration.run(url or local_address(), key or local_key(), Console())


@app.command(name="export")
def export_documents(namespace: Namespace, *, url: Url = None, key: Key = None) -> None:
    """Write a namespace's documents to standard output, one JSON object per line."""
    body = {"include": {"content": True, "memoryCount": False}}
    for document in Service.of(url, key).pages(f"/ns/{namespace}/list/documents", body, "documents"):
        kept = {name: document[name] for name in ("id", "content", "metadata", "title", "url")}
        typer.echo(json.dumps(kept, ensure_ascii=False))


@app.command(name="import")
def import_documents(namespace: Namespace, *, url: Url = None, key: Key = None) -> None:
    """Read documents from standard input as `export` writes them; doing it twice changes nothing."""
    service = Service.of(url, key)
    waiting: list[Answer] = []
    total = 0
    for line in filter(str.strip, sys.stdin):
        document = _object(line)
        if document.get("content"):
            waiting.append(
                {name: document[name] for name in ("id", "content", "metadata") if name in document}
            )
        else:
            typer.echo(f"{document.get('id')} has no content and was left out", err=True)
        if len(waiting) == PAGE:
            total += _send(service, namespace, waiting)
            waiting = []
    total += _send(service, namespace, waiting) if waiting else 0
    typer.echo(f"{total} documents", err=True)


def _send(service: Service, namespace: str, documents: list[Answer]) -> int:
    answer = service.call("POST", f"/ns/{namespace}/document/batch", json={"documents": documents})
    for result in answer["results"]:
        if result["status"] == "error":
            typer.echo(f"{result['id']}: {result.get('error')}", err=True)
    return int(answer["count"]) - int(answer["failed"])


@keys.command(name="create")
def create_key(
    name: Annotated[str, typer.Argument(help="Whose it is.")],
    *,
    role: Annotated[str, typer.Option(help="admin, write or read.")] = "write",
    namespace: Annotated[list[str] | None, typer.Option(help="A namespace or prefix (team-a:*).")] = None,
    expires_in_days: Annotated[int | None, typer.Option(min=1)] = None,
    url: Url = None,
    key: Key = None,
) -> None:
    """Issue a key and show it, once."""
    body = {"name": name, "role": role, "namespaces": namespace or None, "expiresInDays": expires_in_days}
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


@dlq.command(name="list")
def list_dead_letters(
    topic: Annotated[str | None, typer.Argument(help="A topic; none: all.")] = None,
    *,
    url: Url = None,
    key: Key = None,
) -> None:
    """What could not be handled, where it came from, and why."""
    query = {} if topic is None else {"topic": topic}
    for letter in Service.of(url, key).call("GET", "/admin/dlq", params=query)["letters"]:
        place = f"{letter['topic']}/{letter['partition']}/{letter['offset']}"
        typer.echo(
            f"{letter['parkedAt']}  {place}  {letter['stage']}  {letter['key']}\n    {letter['error']}"
        )


@dlq.command(name="replay")
def replay_dead_letters(
    topic: Annotated[str | None, typer.Argument(help="A topic; none: all.")] = None,
    *,
    url: Url = None,
    key: Key = None,
) -> None:
    """Hand them to their topics again, after the cause is gone."""
    query = {} if topic is None else {"topic": topic}
    count = Service.of(url, key).call("POST", "/admin/dlq/replay", params=query)["replayed"]
    typer.echo(f"{count} records replayed")
