"""Commands for what a namespace holds: `get`, `list`, `forget`, `delete`, `erase`, `namespaces` and `profile`."""

import re
from typing import Annotated, Literal
from urllib.parse import quote

import typer
from rich.markup import escape
from rich.table import Column, Table

from app.cli.conventions import ExitCode, confirm, error_exit, pluralize, say
from app.cli.remote_service import PAGE_SIZE, RemoteService
from app.cli.service_command import ServiceCall, app
from schemas.base import JsonObject
from schemas.limits import NAMESPACE_PATTERN

ERASE_PATH = "/admin/erasures"
ERASE_TIMEOUT_SECONDS = 3600.0
"""Erasing reads the log once, and rewrites the files of tables."""


def check_namespace(name: str | None) -> str | None:
    """Refuse a name that no namespace has: in an address, `alice/x` or `alice?x` would mean something else."""
    if name is not None and re.fullmatch(NAMESPACE_PATTERN, name) is None:
        raise typer.BadParameter("A namespace has letters, digits, '_', ':' and '-' only.")
    return name


Namespace = Annotated[str, typer.Argument(help="The namespace.", callback=check_namespace)]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


@app.asks("recollect get alice diary", "recollect get alice diary --json")
def get(
    call: ServiceCall,
    namespace: Namespace,
    id: Annotated[str, typer.Argument(help="The id of a document or a memory.")],  # noqa: A002 - the argument's name
) -> None:
    """Show a document with its text and memories, or a memory."""
    service = call.service
    document = service.find(f"/ns/{namespace}/document/{quote(id, safe='')}", params={"include": "memories"})
    if document is not None:
        call.emit(document, *_describe_document(document))
        return
    memory = service.find(f"/ns/{namespace}/memories/{quote(id, safe='')}", params={"include": "related"})
    if memory is None:
        raise error_exit(f"{namespace} has neither a document nor a memory {id!r}.", ExitCode.NOT_FOUND)
    call.emit(memory, *_describe_memory(memory))


@app.asks("recollect list alice", "recollect list alice documents --limit 5 --json", name="list")
def list_items(
    call: ServiceCall,
    namespace: Namespace,
    kind: Annotated[Literal["memories", "documents"], typer.Argument(help="memories or documents.")] = "memories",
    *,
    limit: Annotated[int, typer.Option(min=1, max=PAGE_SIZE, help="Maximum number of rows, the newest first.")] = 20,
) -> None:
    """List the memories, or the documents, of a namespace."""
    service = call.service
    page = service.request("POST", f"/ns/{namespace}/list/{kind}", params={"limit": limit, "order": "desc"}, json={})
    items, total = page[kind], page["pagination"]["totalItems"]
    columns = ("memory",) if kind == "memories" else ("status", "title")
    table = Table(_whole_column("id", [item["id"] for item in items]), *columns, box=None)
    for item in items:
        cells = (item["memory"],) if kind == "memories" else (item["system"]["status"], item["title"] or "")
        table.add_row(escape(item["id"]), *map(escape, cells))
    rest = f"{total - len(items):,} older ones are not shown: --limit" if total > len(items) else f"{total:,} in all"
    call.emit(items, table, rest, empty=f"{kind} in {namespace}")
    if not items and not call.as_json:
        explain_emptiness(service, namespace)


@app.asks(
    "recollect forget alice 13301e70430c425dc27f57fab44f50c3",
    "recollect forget alice --about 'her old address'",
    "recollect forget alice --about 'her old address' --redact --dry-run",
    "recollect forget alice --about 'her old address' --redact --yes",
)
def forget(
    call: ServiceCall,
    namespace: Namespace,
    ids: Annotated[list[str] | None, typer.Argument(help="Ids of memories.")] = None,
    *,
    about: Annotated[str | None, typer.Option(help="Forget the memories about this instead.")] = None,
    redact: Annotated[bool, typer.Option("--redact", help="Take the sentences out of their documents too.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would go.")] = False,
    yes: Yes = False,
) -> None:
    """Forget memories by id or by subject; their documents stay as they are unless --redact is given."""
    if bool(ids) == (about is not None):
        raise error_exit("Give the ids of memories, or --about.", ExitCode.USAGE)
    service = call.service
    matches = [] if about is None else _find_about(service, namespace, about)
    chosen = ids if about is None else [match["id"] for match in matches]
    if redact and chosen:
        _redact(call, namespace, chosen, dry_run=dry_run, yes=yes)
        return
    if dry_run:
        if about is None:
            raise error_exit("--dry-run shows what --about or --redact means.", ExitCode.USAGE)
        texts = [f"  {match['memory']}" for match in matches]
        call.emit(matches, *texts, empty=f"memories about {about!r} in {namespace}")
        return
    if about is None:
        answer = service.request("DELETE", f"/ns/{namespace}/memories", json={"ids": ids})
    else:
        answer = _forget_found(service, namespace, matches, yes=yes)
    _report(call, answer, pluralize(answer["count"], "memory", "memories") + " forgotten")


@app.asks("recollect delete alice diary notes", "recollect delete alice --everything --yes")
def delete(
    call: ServiceCall,
    namespace: Namespace,
    ids: Annotated[list[str] | None, typer.Argument(help="Ids of documents.")] = None,
    *,
    everything: Annotated[bool, typer.Option("--everything", help="Delete the namespace with all it holds.")] = False,
    yes: Yes = False,
) -> None:
    """Delete documents with their memories, or a whole namespace."""
    if bool(ids) == everything:
        raise error_exit("Give the ids of documents, or --everything.", ExitCode.USAGE)
    if not everything:
        answer = call.request("DELETE", f"/ns/{namespace}/document", json={"ids": ids})
        _report(call, answer, pluralize(answer["count"], "document") + " deleted")
        return
    if not yes:
        confirm(f"Delete {namespace} with all documents and memories?")
    answer = call.request("DELETE", f"/ns/{namespace}")
    counts = f"{answer['deletedDocumentsCount']} documents, {answer['deletedMemoriesCount']} memories"
    call.emit(answer, f"{namespace} deleted: {counts}")


@app.asks(
    "recollect erase alice diary --dry-run",
    "recollect erase alice diary",
    "recollect erase alice --everything --yes",
    "recollect erase --yes --json",
)
def erase(
    call: ServiceCall,
    namespace: Annotated[str | None, typer.Argument(help="The namespace.", callback=check_namespace)] = None,
    ids: Annotated[list[str] | None, typer.Argument(help="Ids of documents.")] = None,
    *,
    everything: Annotated[bool, typer.Option("--everything", help="Delete the namespace with all it holds.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count what would go.")] = False,
    yes: Yes = False,
) -> None:
    """Delete documents or a namespace, and erase what was ever deleted from log, files and tables.

    Without a namespace: erase what is deleted already.
    """
    if namespace is not None and bool(ids) == everything:
        raise error_exit("Give ids of documents, or --everything for the whole namespace.", ExitCode.USAGE)
    body: JsonObject = {} if namespace is None else {"namespace": namespace}
    if ids:
        body["documents"] = ids
    if dry_run or not yes:
        plan = call.request("POST", ERASE_PATH, json={**body, "dryRun": True}, timeout=ERASE_TIMEOUT_SECONDS)
        if dry_run:
            named = [
                f"  {'follows from these: ' * memory['isDerived']}{memory['memory']}"
                for memory in plan["goingMemories"]
            ]
            call.emit(plan, f"Would go: {_describe_erasure(plan)}.", *map(escape, named))
            return
        confirm(f"Erase for ever: {_describe_erasure(plan)}?")
    report = call.request("POST", ERASE_PATH, json=body, timeout=ERASE_TIMEOUT_SECONDS)
    call.emit(report, *_describe_erasure_report(report))


@app.asks("recollect namespaces", "recollect namespaces --match team --json")
def namespaces(
    call: ServiceCall,
    *,
    match: Annotated[str | None, typer.Option(help="Only names that contain this.")] = None,
) -> None:
    """List the namespaces that the key opens."""
    service = call.service
    query = {} if match is None else {"q": match}
    rows = list(service.iterate_items("GET", "/namespaces", "namespaces", query))
    names = _whole_column("namespace", [row["namespace"] for row in rows])
    table = Table(names, "documents", "memories", "description", box=None)
    for row in rows:
        counts = f"{row['documentCount']:,}", f"{row['memoryCount']:,}"
        table.add_row(escape(row["namespace"]), *counts, escape(row["description"] or ""))
    call.emit(rows, table, empty="namespaces")


@app.asks("recollect profile alice", "recollect profile alice --json")
def profile(call: ServiceCall, namespace: Namespace) -> None:
    """Show what is known of the person or thing of a namespace."""
    service = call.service
    answer = service.request("POST", f"/ns/{namespace}/profile", json={})["profile"]
    sections = {"lasting": answer["static"], "recent": answer["dynamic"], **answer["buckets"]}
    lines = [
        line
        for title, memories in sections.items()
        if memories
        for line in (f"{title}:", *(f"  {memory['memory']}" for memory in memories))
    ]
    if call.as_json or lines:
        call.emit(answer, *lines)
    else:
        call.emit({}, empty=f"memories of {namespace}")
        explain_emptiness(service, namespace)


def explain_emptiness(service: RemoteService, namespace: str) -> None:
    """Say that the namespace is unknown, or how many of its documents await the forming of memories."""
    if service.find(f"/ns/{namespace}") is None:
        say(f"There is no namespace {namespace}: `recollect namespaces` lists those that exist.", err=True)
        return
    query = {"limit": PAGE_SIZE, "order": "desc"}
    newest = service.request("POST", f"/ns/{namespace}/list/documents", params=query, json={})["documents"]
    if waiting := sum(document["system"]["dreamingStatus"] == "dreaming" for document in newest):
        say(f"Memories of {pluralize(waiting, 'document')} are still to be formed: try again soon.", err=True)


def _whole_column(title: str, cells: list[str]) -> Column:
    """Return a column that is never shortened: its cells are typed into other commands."""
    return Column(title, no_wrap=True, min_width=max(map(len, cells), default=0))


def _find_about(service: RemoteService, namespace: str, about: str) -> list[JsonObject]:
    body = {"query": about, "dryRun": True}
    matches: list[JsonObject] = service.request("DELETE", f"/ns/{namespace}/memories/semantic", json=body)["matches"]
    return matches


def _forget_found(service: RemoteService, namespace: str, matches: list[JsonObject], *, yes: bool) -> JsonObject:
    """Forget memories, after showing them and asking unless `yes`."""
    if not matches:
        return {"count": 0, "errors": [], "matches": []}
    if not yes:
        for match in matches:
            say(f"  {match['memory']}", err=True)
        say("Passages that say it are still found; --redact takes the sentences out of them too.", err=True)
        confirm(f"Forget {pluralize(len(matches), 'memory', 'memories')}?")
    ids = [match["id"] for match in matches]
    return service.request("DELETE", f"/ns/{namespace}/memories", json={"ids": ids})


def _redact(call: ServiceCall, namespace: str, ids: list[str], *, dry_run: bool, yes: bool) -> None:
    """Forget memories and take their sentences out of the documents, after showing them and asking unless `yes`."""
    path = f"/ns/{namespace}/explain/redactions"
    plan = call.request("POST", path, json={"ids": ids, "dryRun": True})
    lines = _describe_redaction(plan)
    if dry_run:
        call.emit(plan, *lines)
        return
    if not yes:
        for line in lines:
            say(line, err=True)
        confirm("Forget these memories and take these sentences out of the documents?")
    answer = call.request("POST", path, json={"ids": ids})
    counts = pluralize(answer["count"], "memory", "memories"), pluralize(len(answer["documents"]), "document")
    _report(call, answer, f"{counts[0]} forgotten, with their sentences in {counts[1]}")


def _describe_redaction(plan: JsonObject) -> list[str]:
    lines = ["memories:", *(f"  {match['memory']}" for match in plan["matches"])]
    for document in plan["documents"]:
        rest = ", which has nothing else and is deleted" if document["deleted"] else ""
        lines += [f"sentences of {document['id']}{rest}:", *(f"  {text}" for text in document["sentences"])]
    return [*lines, *(f"{error['id']}: {error['error']}" for error in plan["errors"])]


def _report(call: ServiceCall, answer: JsonObject, summary: str) -> None:
    """Print what a removal did; exits with NOT_FOUND if some ids were unknown."""
    call.emit(answer, summary)
    for error in answer["errors"]:
        say(f"{error['id']}: {error['error']}", err=True)
    if answer["errors"]:
        raise typer.Exit(ExitCode.NOT_FOUND)


def _describe_document(document: JsonObject) -> list[str]:
    system = document["system"]
    title = [document["title"]] if document["title"] else []
    memories = [f"  {memory['memory']}" for memory in document.get("memories") or ()]
    about = f"{document['id']}  {document['type']}, {system['status']}, changed {system['updatedAt']}"
    return [about, *title, "", document["content"] or "", *(["", "memories:", *memories] if memories else [])]


def _describe_memory(memory: JsonObject) -> list[str]:
    related = ((memory.get("included") or {}).get("related")) or {}
    state = ["forgotten" if memory["isForgotten"] else "current" if memory["isLatest"] else "replaced"]
    lines = [memory["memory"], f"version {memory['version']}, {state[0]}, since {memory['system']['createdAt']}"]
    names = {"parents": "instead of", "children": "replaced by", "siblings": "related"}
    return lines + [f"{text}: {other['memory']}" for name, text in names.items() for other in related.get(name, ())]


def _describe_erasure(report: JsonObject) -> str:
    counts = (
        pluralize(report["documents"], "document"),
        pluralize(report["chunks"], "chunk"),
        pluralize(report["memories"], "memory", "memories"),
        pluralize(sum(report["events"].values()), "event"),
        pluralize(report["blobs"], "blob"),
        *([pluralize(report["keys"], "key")] if report["keys"] else ()),
    )
    shared = report["sharedMemories"]
    kept = f"; {pluralize(shared, 'memory', 'memories')} of other documents too, kept" if shared else ""
    return ", ".join(counts) + kept


def _describe_erasure_report(report: JsonObject) -> list[str]:
    lines = [f"Erased: {_describe_erasure(report)}.", f"Digest: {report['digest']}, {report['endedAt']}"]
    if report["waitingEvents"] or report["waitingBlobs"]:
        waiting = f"{pluralize(report['waitingEvents'], 'event')} and {pluralize(report['waitingBlobs'], 'blob')}"
        lines.append(f"Still in use: {waiting}. Run `recollect erase` again in a minute.")
    if report["retainedEvents"]:
        retained = pluralize(report["retainedEvents"], "event")
        lines.append(f"Not erased: {retained} from before the topics were sealed, until their retention ends.")
    return lines
