"""`recollect --version`, `recollect add` and `recollect search`."""

import json
import sys
import time
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import quote

import typer
from rich.markup import escape

from app.cli.commands.content_commands import Namespace, explain_emptiness
from app.cli.conventions import ExitCode, Terminal, error_exit, pluralize, say
from app.cli.remote_service import RemoteService
from app.cli.service_command import ServiceCall, app
from pipeline.text.page_breaks import page_phrase
from schemas.base import JsonObject


def _print_version(requested: bool) -> None:
    if requested:
        say(f"recollect {version('recollect')}")
        raise typer.Exit


@app.callback()
def recollect(
    *,
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version.")
    ] = False,
) -> None:
    """A self-hosted memory service and its commands."""


WAIT_TIMEOUT_SECONDS = 300.0


def _check_date(date: str | None) -> str | None:
    """Refuse what the service would read as no date: a year, month, day or time in ISO 8601 is one."""
    try:
        datetime.fromisoformat(f"{date}-01-01"[:10] if date and len(date) <= len("2025-03") else date or "2025-03-12")
    except ValueError as error:
        raise typer.BadParameter(f"{date} is no date such as 2025-03-12, 2025-03 or 2025.") from error
    return date


@app.asks(
    "recollect add alice 'I live in Lisbon and I play the cello.' --wait",
    'recollect add alice --file notes.pdf --metadata \'{"kind": "note"}\'',
    "cat diary.txt | recollect add alice - --id diary --json",
)
def add(
    call: ServiceCall,
    namespace: Namespace,
    text: Annotated[str | None, typer.Argument(help="Text or a URL; - reads standard input.")] = None,
    *,
    file: Annotated[Path | None, typer.Option(exists=True, dir_okay=False, help="A file.")] = None,
    id: Annotated[  # noqa: A002 - the option's name
        str | None, typer.Option(help="An id of your choice; text is added to a document that has it.")
    ] = None,
    metadata: Annotated[str | None, typer.Option(help="A JSON object.")] = None,
    date: Annotated[
        str | None,
        typer.Option(callback=_check_date, help="The day that a text is of, such as 2025-03-12; not today."),
    ] = None,
    wait: Annotated[bool, typer.Option(help="Return once it can be searched.")] = False,
) -> None:
    """Remember a text, a web page or a file."""
    service = call.service
    if (file is None) == (text is None):
        raise error_exit("Give a text, or --file.", ExitCode.USAGE)
    if file is not None:
        if date is not None:
            raise error_exit("--date goes with a text; the interface takes no date of a file.", ExitCode.USAGE)
        answer = _upload(service, namespace, file, id, metadata)
    else:
        _refuse_name_of_file(text or "")
        body: JsonObject = {"content": sys.stdin.read() if text == "-" else text, "id": id}
        body["metadata"] = None if metadata is None else _parse_json_object("--metadata", metadata)
        body["date"] = date
        answer = service.request("POST", f"/ns/{namespace}/document", json=body)
    if wait:
        with Terminal(stderr=True).status(f"Waiting until {answer['id']} can be searched…"):
            answer["status"] = _wait_until_done(service, namespace, answer["id"])
    call.emit(answer, answer["id"])


def _refuse_name_of_file(text: str) -> None:
    """Refuse a text that is the name of a file here: who gives one means what is in the file."""
    try:
        is_file = Path(text).is_file()
    except (OSError, ValueError):  # a text that no path can be
        return
    if is_file:
        hint = f"{text} is a file: --file adds what is in it. For the words themselves, give - and standard input."
        raise error_exit(hint, ExitCode.USAGE)


def _upload(
    service: RemoteService, namespace: str, file: Path, document: str | None, metadata: str | None
) -> JsonObject:
    """Add a file, under an id of the caller's choice if one is given."""
    path = f"/ns/{namespace}/document"
    if document is not None and service.find(f"{path}/{quote(document, safe='')}") is None:
        # The interface gives files ids of their own, and only replaces documents by id: the name comes first.
        service.request("POST", path, json={"content": file.name, "id": document, "taskType": "superrag"})
    form = {} if metadata is None else {"metadata": metadata}
    with file.open("rb") as data:
        target = f"{path}/file" + (f"/{quote(document, safe='')}" if document else "")
        return service.request("POST", target, files={"file": (file.name, data)}, data=form)


def _parse_json_object(option: str, text: str) -> JsonObject:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise error_exit(f"{option}: this is not JSON: {text} ({error})", ExitCode.USAGE) from error
    if not isinstance(value, dict):
        raise error_exit(f"{option}: this is not a JSON object: {text}", ExitCode.USAGE)
    return value


def _wait_until_done(service: RemoteService, namespace: str, document: str) -> str:
    deadline = time.monotonic() + WAIT_TIMEOUT_SECONDS
    status = "unknown"
    while time.monotonic() < deadline:
        system = service.request("GET", f"/ns/{namespace}/document/{quote(document, safe='')}")["system"]
        status = str(system["status"])
        if status == "done":
            return status
        if status == "failed":
            raise error_exit(f"{document} could not be read: {system.get('error', 'for no known reason.')}")
        time.sleep(0.05)
    raise error_exit(f"{document} is still {status} after {WAIT_TIMEOUT_SECONDS:.0f} seconds.")


@app.asks(
    "recollect search alice 'Where does she live?'",
    "recollect search alice cello --mode memories --limit 3 --threshold 0",
    """recollect search alice tea --json --filter '{"field": "n", "operator": "gte", "value": 2}'""",
    "recollect search alice 'Where does she live?' --why",
    "recollect search alice 'Where does she live?' --as-of 2026-03-01T12:00:00Z",
)
def search(
    call: ServiceCall,
    namespace: Namespace,
    query: Annotated[str, typer.Argument(help="A question, or words.")],
    *,
    mode: Annotated[
        Literal["hybrid", "memories", "chunks"], typer.Option(help="hybrid, memories or chunks.")
    ] = "hybrid",
    limit: Annotated[int, typer.Option(min=1, max=100, help="Maximum number of results.")] = 5,
    threshold: Annotated[float, typer.Option(min=0, max=1, help="The lowest similarity of a result.")] = 0.3,
    filter: Annotated[str | None, typer.Option(help="A filter expression as JSON.")] = None,  # noqa: A002
    why: Annotated[bool, typer.Option("--why", help="Show the parts of each score.")] = False,
    as_of: Annotated[
        str | None, typer.Option(help="Search the contents of this time (ISO 8601 with a time zone).")
    ] = None,
) -> None:
    """Search a namespace, also at a past time, and explain results."""
    body: JsonObject = {"query": query, "searchMode": mode, "limit": limit, "threshold": threshold}
    body["include"] = {"documents": True}
    if filter is not None:
        body["filter"] = _parse_json_object("--filter", filter)
    if as_of is not None:
        body["asOf"] = as_of
    path = "explain/search" if why or as_of is not None else "search"
    answer = call.request("POST", f"/ns/{namespace}/{path}", json=body)
    if call.as_json:
        call.emit(answer)
        return
    console = Terminal()
    for result in answer["results"]:
        text, source = escape(result_text(result)), escape(result_source(result))
        console.print(f"[bold]{result['similarity']:.2f}[/]  {text}  [dim]{source}[/]")
        for part in result["explanation"]["contributions"] if why else ():
            console.print(f"[dim]{part['score']:+10.2f}  {part['signal']}: {escape(part['description'])}[/]")
    console.print(f"[dim]{pluralize(len(answer['results']), 'result')} in {answer['searchTime']:.0f} ms[/]")
    if not answer["results"]:
        explain_emptiness(call.service, namespace)
    for note in answer.get("limitations", {}).get("notes", ()):
        say(note, err=True)


def result_text(result: JsonObject) -> str:
    return " ".join((result.get("memory") or result.get("chunk") or "").split())


def result_source(result: JsonObject) -> str:
    """Name the source of a result, with its page: the document's title, or its id if the text begins with the title."""
    document = (result.get("included") or {}).get("document") or {}
    title = document.get("title") or ""
    shown = title if title and not result_text(result).startswith(title.removesuffix("…")) else document.get("id")
    page = page_phrase(document.get("type") or "", result.get("metadata", {}))
    return ", ".join(str(part) for part in (shown, page) if part)
