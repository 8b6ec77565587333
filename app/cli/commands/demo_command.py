"""`recollect demo`: a year of somebody's life as memories, some of which change, and questions about it."""

import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.markup import escape

from app.cli import remote_service
from app.cli.cli_settings import load_settings
from app.cli.conventions import Terminal, error_exit, examples_epilog
from app.cli.service_command import app
from app.data_directories import read_address
from schemas.base import JsonObject

NAMESPACE = "demo"
MESSAGES = (
    (
        "2025-02-03",
        "My name is Maya. I live in Lisbon with my cat Pixel, and I work as a nurse at the Santa Maria hospital.",
    ),
    ("2025-04-12", "I play the cello on Sundays, and I'm allergic to peanuts. My sister Ines is a doctor."),
    ("2025-09-08", "I moved to Porto last week."),
    ("2026-01-19", "I now work as a teacher at a music school."),
)
"""Date and text of what somebody tells an assistant."""
QUESTIONS = ("Where do I live?", "What do I do for work?", "What am I allergic to?", "Who is my sister?")
MIN_SIMILARITY = 0.3
START_TIMEOUT_SECONDS = 240.0
MEMORY_TIMEOUT_SECONDS = 60.0


@app.command(epilog=examples_epilog("recollect demo"))
def demo(*, url: remote_service.Url = None, key: remote_service.Key = None) -> None:
    """Add messages of a person who moves and changes jobs to the running service, and ask what holds now."""
    settings = load_settings()
    running = remote_service.LocalService(url, None) if url else remote_service.find_local_service(settings)
    secret = remote_service.find_key(key, settings, running.folder) if running else None
    run_demo(remote_service.RemoteService.connect(running.address, secret) if running and secret else None, Terminal())


def run_demo(service: remote_service.RemoteService | None, console: Terminal) -> None:
    """Run the demonstration on a service; without one, on a temporary service."""
    if service is not None:
        console.print(f"Using the service at {service.address}, namespace [bold]{NAMESPACE}[/].\n")
        _demonstrate(service, console)
        console.print(f"See it all at {service.address}/console, or: recollect list {NAMESPACE}")
        return
    console.print(
        "No service with a known key runs here: starting one for this demonstration, which is removed afterwards.\n"
        "With `recollect serve` in another terminal, or RECOLLECT_API_KEY set, yours is used.\n",
        soft_wrap=True,
    )
    with _temporary_service() as temporary:
        _demonstrate(temporary, console)


def _demonstrate(service: remote_service.RemoteService, console: Terminal) -> None:
    documents = [f"message-{number}" for number in range(1, len(MESSAGES) + 1)]
    service.request("DELETE", f"/ns/{NAMESPACE}/document", json={"ids": documents})  # of an earlier demonstration
    known = {memory["id"] for memory in _list_memories(service)}
    for document, (date, text) in zip(documents, MESSAGES, strict=True):
        console.print(f"[dim]{date}[/]  {escape(text)}", soft_wrap=True)
        body = {"id": document, "content": text, "date": date, "dreaming": "instant"}
        service.request("POST", f"/ns/{NAMESPACE}/document", json=body)
        _wait_for_memories(service, document)
        for memory in _list_memories(service):
            if memory["id"] not in known:
                known.add(memory["id"])
                _print_memory(service, memory, console)
    console.print()
    for question in QUESTIONS:
        _ask(service, question, console)


def _list_memories(service: remote_service.RemoteService) -> list[JsonObject]:
    path = f"/ns/{NAMESPACE}/list/memories"
    return list(service.iterate_items("POST", path, "memories", {"order": "asc"}, json={}))


def _print_memory(service: remote_service.RemoteService, memory: JsonObject, console: Terminal) -> None:
    console.print(f"    [green]remembered[/]  {escape(memory['memory'])}", soft_wrap=True)
    if memory["version"] > 1:
        path = f"/ns/{NAMESPACE}/memories/{memory['id']}"
        related = service.request("GET", path, params={"include": "related"})["included"]["related"]
        for replaced in related["parents"]:
            console.print(f"    [dim]instead of  {escape(replaced['memory'])}[/]", soft_wrap=True)


def _wait_for_memories(service: remote_service.RemoteService, document: str) -> None:
    deadline = time.monotonic() + MEMORY_TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        system = service.request("GET", f"/ns/{NAMESPACE}/document/{document}")["system"]
        if system["status"] == "failed":
            raise error_exit(f"{document} could not be read: `recollect status --failed` says why.")
        if system["status"] == "done" and system.get("dreamingStatus") == "done":
            return
        time.sleep(0.05)
    raise error_exit(f"No memories of {document} after {MEMORY_TIMEOUT_SECONDS:.0f} seconds: see `recollect status`.")


def _ask(service: remote_service.RemoteService, question: str, console: Terminal) -> None:
    body: JsonObject = {
        "query": question,
        "limit": 1,
        "searchMode": "memories",
        "threshold": MIN_SIMILARITY,
    }
    began = time.perf_counter()
    results = service.request("POST", f"/ns/{NAMESPACE}/search", json=body)["results"]
    milliseconds = 1000 * (time.perf_counter() - began)
    console.print(f"[bold]{escape(question)}[/]  [dim]({milliseconds:.1f} ms)[/]")
    for result in results:
        console.print(f"  {result['similarity']:.2f}  {escape(result['memory'])}")


@contextmanager
def _temporary_service() -> Iterator[remote_service.RemoteService]:
    """Start a service on a temporary directory; stop and remove it in the end."""
    with tempfile.TemporaryDirectory(prefix="recollect-demo-") as folder:
        key = f"rk_{secrets.token_hex(16)}"
        environment = {name: value for name, value in os.environ.items() if not name.startswith("RECOLLECT_")}
        command = [sys.executable, "-m", "recollect", "serve", "--port", "0", "--data-dir", "data"]
        process = subprocess.Popen(  # noqa: S603 - our own command
            command,
            cwd=folder,
            env=environment | {"RECOLLECT_ADMIN_KEY": key},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            yield remote_service.RemoteService.connect(_wait_for_address(process, Path(folder, "data")), key)
        finally:
            process.terminate()
            process.wait()


def _wait_for_address(process: subprocess.Popen[bytes], folder: Path) -> str:
    deadline = time.monotonic() + START_TIMEOUT_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        if (address := read_address(folder)) and remote_service.is_healthy(address):
            return address
        time.sleep(0.05)
    raise error_exit("The service of the demonstration did not start: see `recollect doctor`.")
