"""The commands that talk to a running service over HTTP, as anybody could."""

import json
import sys
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from api import VERSION
from api.commandline import archive, audit, buckets, connectors, dlq, keys, mcp, status, usage
from api.commandline.conventions import Ending, Json, counted, examples, failure, show_json
from api.remote import Answer, Key, Service, Url

app = typer.Typer(no_args_is_help=True, add_completion=False)
app.add_typer(keys.keys, name="keys")
app.add_typer(buckets.buckets, name="buckets")
app.add_typer(dlq.dlq, name="dlq")
app.add_typer(connectors.connectors, name="connectors")


def _say_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"recollect {VERSION}")
        raise typer.Exit


@app.callback()
def recollect(
    *,
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_say_version, help="Say which one this is.")
    ] = False,
) -> None:
    """A self-hosted memory service, and the commands that ask it."""


app.command(epilog=status.EXAMPLES)(status.status)
app.command(epilog=usage.EXAMPLES)(usage.usage)
app.command(epilog=audit.EXAMPLES)(audit.audit)
app.command(name="export", epilog=archive.EXPORTS)(archive.export)
app.command(name="import", epilog=archive.IMPORTS)(archive.take)
app.command(epilog=mcp.EXAMPLES)(mcp.mcp)

Namespace = Annotated[str, typer.Argument(help="The namespace.")]
WAIT_SECONDS = 300.0


@app.command(
    epilog=examples(
        "recollect add alice 'I live in Lisbon and I play the cello.' --wait",
        'recollect add alice --file notes.pdf --metadata \'{"kind": "note"}\'',
        "cat diary.txt | recollect add alice - --id diary --json",
    )
)
def add(
    namespace: Namespace,
    text: Annotated[str | None, typer.Argument(help="Text or a URL; - reads standard input.")] = None,
    *,
    file: Annotated[Path | None, typer.Option(exists=True, dir_okay=False, help="A file.")] = None,
    id: Annotated[  # noqa: A002 - the option's name
        str | None,
        typer.Option(help="An id of your own; with --file that of a document, whose content it replaces."),
    ] = None,
    metadata: Annotated[str | None, typer.Option(help="A JSON object.")] = None,
    wait: Annotated[bool, typer.Option(help="Return when it can be found.")] = False,
    as_json: Json = False,
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
        raise failure("Give a text, or --file.", Ending.USAGE)
    if wait:
        with Console(stderr=True).status(f"Waiting until {answer['id']} can be found…"):
            answer["status"] = _wait(service, namespace, answer["id"])
    if as_json:
        show_json(answer)
    else:
        typer.echo(answer["id"])


def _object(text: str) -> Answer:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise failure(f"This is not JSON: {text} ({error})", Ending.USAGE) from error
    if not isinstance(value, dict):
        raise failure(f"This is not a JSON object: {text}", Ending.USAGE)
    return value


def _wait(service: Service, namespace: str, document: str) -> str:
    deadline = time.monotonic() + WAIT_SECONDS
    status = "unknown"
    while time.monotonic() < deadline:
        status = str(service.call("GET", f"/ns/{namespace}/document/{document}")["system"]["status"])
        if status == "done":
            return status
        if status == "failed":
            raise failure(f"{document} could not be read: `recollect status --failed` says why.")
        time.sleep(0.05)
    raise failure(f"{document} is still {status} after {WAIT_SECONDS:.0f} seconds.")


@app.command(
    epilog=examples(
        "recollect search alice 'Where does she live?'",
        "recollect search alice cello --mode memories --limit 3 --threshold 0",
        """recollect search alice tea --json --filter '{"field": "n", "operator": "gte", "value": 2}'""",
        "recollect search alice 'Where does she live?' --why",
        "recollect search alice 'Where does she live?' --as-of 2026-03-01T12:00:00Z",
    )
)
def search(
    namespace: Namespace,
    query: Annotated[str, typer.Argument(help="A question, or words.")],
    *,
    mode: Annotated[str, typer.Option(help="hybrid, memories or chunks.")] = "hybrid",
    limit: Annotated[int, typer.Option(min=1, max=100, help="Results, at most.")] = 5,
    threshold: Annotated[float, typer.Option(min=0, max=1, help="The least similarity.")] = 0.3,
    filter: Annotated[str | None, typer.Option(help="A filter expression as JSON.")] = None,  # noqa: A002 - the interface's word
    why: Annotated[bool, typer.Option("--why", help="Say what each score is made of.")] = False,
    as_of: Annotated[str | None, typer.Option(help="As it was at this time (ISO 8601, with zone).")] = None,
    as_json: Json = False,
    url: Url = None,
    key: Key = None,
) -> None:
    """Ask; what was known at a past moment too, and why a result is one."""
    body: Answer = {"query": query, "searchMode": mode, "limit": limit, "threshold": threshold}
    body |= {"include": {"documents": True}} | ({} if filter is None else {"filter": _object(filter)})
    body |= {} if as_of is None else {"asOf": as_of}
    path = "explain/search" if why or as_of is not None else "search"
    answer = Service.of(url, key).call("POST", f"/ns/{namespace}/{path}", json=body)
    if as_json:
        show_json(answer)
        return
    console = Console()
    for result in answer["results"]:
        console.print(
            f"[bold]{result['similarity']:.2f}[/]  {escape(shown(result))}  [dim]{escape(source(result))}[/]"
        )
        for part in result["why"]["parts"] if why else ():
            console.print(f"[dim]{part['score']:+10.2f}  {part['part']}: {escape(part['says'])}[/]")
    console.print(f"[dim]{counted(len(answer['results']), 'result')} in {answer['searchTime']:.0f} ms[/]")
    for limit_ in answer.get("limits", {}).get("says", ()):
        typer.echo(limit_, err=True)


def shown(result: Answer) -> str:
    """The text of a result on one line."""
    return " ".join((result.get("memory") or result.get("chunk") or "").split())


def source(result: Answer) -> str:
    """What a result comes from: the title of the document, or its id where the text begins with the title."""
    document = (result.get("included") or {}).get("document") or {}
    title = document.get("title") or ""
    if title and not shown(result).startswith(title.removesuffix("…")):
        return str(title)
    return str(document.get("id") or "")
