"""The demonstration: remember the long descriptions of the installed packages, then ask five questions.

`python -m bench.demo` puts what it prints into the README.
"""

import re
import tempfile
import time
from importlib.metadata import metadata
from io import StringIO
from pathlib import Path
from typing import Any

import httpx2
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from api.commandline.conventions import failure
from api.commands import shown
from api.remote import Service
from bench.figures import write
from bench.server import Server
from bench.texts import descriptions

NAMESPACE = "demo"
QUESTIONS = (
    "How can I validate data with Python type hints?",
    "a faster event loop for asyncio",
    "Which tool finds bugs by making up test inputs?",
    "split long texts into chunks that fit a model",
    "Who may import whom: checking the architecture of a project",
)
MARKUP = (
    (re.compile(r"!\[[^]]*\]\([^)]*\)|</?[a-z][^>]*>"), " "),
    (re.compile(r"\[([^]]*)\]\([^)]*\)"), r"\1"),
    (re.compile(r"\.\. image:: \S+|```\w*|#+ |={4,}|-{4,}|\*\*"), " "),
)
SHOWN = 3
WIDTH = 110
SECONDS = 300.0
ENDED = frozenset({"done", "failed"})


def run(url: str | None, key: str | None, console: Console) -> None:
    """On the service at `url`, or on one of its own that ends with the demonstration."""
    if url is not None and key is not None and _answers(url):
        console.print(f"Using the service at {url}, namespace [bold]{NAMESPACE}[/].")
        _demonstrate(Service.at(url, key), console)
        return
    console.print(
        "No running service with a known key: starting one for this demonstration. (With RECOLLECT_API_KEY"
        " set it goes to the one that runs, and stays in its console.)"
    )
    with (
        tempfile.TemporaryDirectory(prefix="recollect-demo-") as folder,
        Server(Path(folder) / "data") as own,
    ):
        _demonstrate(Service.at(own.url, own.key), console)


def _answers(url: str) -> bool:
    try:
        return httpx2.get(f"{url}/health", timeout=5.0).is_success
    except httpx2.TransportError:
        return False


def _demonstrate(service: Service, console: Console) -> None:
    texts = descriptions()
    seconds = _remember(service, texts, console)
    size = sum(len(text) for _, text in texts) / 1024
    console.print(
        f"{len(texts)} package descriptions, {size:,.0f} KB, ready to be asked after {seconds:.1f} s.\n"
    )
    _tell_failures(service, console)
    for question in QUESTIONS:
        _ask(service, question, console)


def _remember(service: Service, texts: list[tuple[str, str]], console: Console) -> float:
    documents = [
        {"id": name, "content": text, "metadata": {"package": name, "version": metadata(name)["Version"]}}
        for name, text in texts
    ]
    columns = TextColumn("Remembering"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    began = time.perf_counter()
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("", total=len(documents))
        body = {"documents": documents, "taskType": "superrag"}
        answer = service.call("POST", f"/ns/{NAMESPACE}/document/batch", json=body)
        if answer["failed"]:
            raise failure(f"{answer['failed']} documents were refused: {answer['results'][-1]}")
        done = 0
        while done < len(documents):
            done = _done(service, {name for name, _ in texts})
            progress.update(task, completed=done)
            if time.perf_counter() - began > SECONDS:
                raise failure(f"Only {done} of {len(documents)} were done after {SECONDS:.0f} seconds.")
            time.sleep(0.02)
    return time.perf_counter() - began


def _done(service: Service, names: set[str]) -> int:
    body = {"include": {"memoryCount": False}}
    listed = list(service.pages(f"/ns/{NAMESPACE}/list/documents", body, "documents"))
    return sum(document["id"] in names and document["system"]["status"] in ENDED for document in listed)


def _tell_failures(service: Service, console: Console) -> None:
    for document in service.call("GET", "/admin/failed")["documents"]:
        if document["namespace"] == NAMESPACE:
            console.print(f"[red]{escape(document['id'])} could not be read:[/] {escape(document['error'])}")


def _readable(text: str) -> str:
    """Without the badges, links and tags that descriptions are full of."""
    for pattern, kept in MARKUP:
        text = pattern.sub(kept, text)
    return " ".join(text.split())


def _ask(service: Service, question: str, console: Console) -> None:
    body: dict[str, Any] = {"query": question, "limit": SHOWN, "include": {"documents": True}}
    began = time.perf_counter()
    results = service.call("POST", f"/ns/{NAMESPACE}/search", json=body)["results"]
    taken = 1000 * (time.perf_counter() - began)
    console.print(f"[bold]{escape(question)}[/]  [dim]({taken:.1f} ms)[/]")
    for result in results:
        name = result["metadata"].get("package", "?")
        text = _readable(shown(result))
        room = max(20, WIDTH - len(str(name)) - 12)
        line = text if len(text) <= room else text[: room - 1] + "…"
        console.print(
            f"  {result['similarity']:.2f}  [cyan]{escape(str(name))}[/]  {escape(line)}", soft_wrap=True
        )
    console.print()


def main() -> None:
    """On a service of its own, as the README shows it."""
    said = StringIO()
    run(None, None, Console(file=said, width=WIDTH))
    shown = said.getvalue()
    lines = "\n".join(line.rstrip() for line in shown[shown.index("Remembering") :].strip().splitlines())
    readme = Path(__file__).parent.parent / "README.md"
    write(readme, f"```\n{lines}\n```", "<!-- demo -->", "<!-- /demo -->")


if __name__ == "__main__":
    main()
