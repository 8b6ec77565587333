"""`recollect dlq`: dead letters, one at a time or all of a topic."""

import json
from typing import Annotated, Any

import typer

from app.cli.conventions import ExitCode, error_exit, pluralize
from app.cli.remote_service import RemoteService
from app.cli.service_command import CommandGroup, ServiceCall
from schemas.base import JsonObject
from schemas.topics import ALL_TOPICS

dlq = CommandGroup(no_args_is_help=True, help="Dead letters: records that no stage could handle.")

MAX_LETTERS_PER_REQUEST = 1000
TOPIC_NAMES = frozenset(topic.name for topic in ALL_TOPICS)

TopicsOrIds = Annotated[
    list[str] | None,
    typer.Argument(metavar="topic|id", help="Topics (documents.submitted.v1) or ids, as `dlq list` shows them."),
]


@dlq.asks("recollect dlq list", "recollect dlq list documents.submitted.v1 --json", name="list")
def list_dead_letters(
    call: ServiceCall,
    topic: Annotated[str | None, typer.Argument(help="A topic; default: all.")] = None,
    *,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Maximum number of records.")] = 100,
) -> None:
    """List dead letters with the stage that failed and its error."""
    if topic is not None and topic not in TOPIC_NAMES:
        raise error_exit(f"There is no topic {topic}: docs/guides/kafka.md lists them.", ExitCode.NOT_FOUND)
    query: dict[str, Any] = {"limit": limit} | ({} if topic is None else {"topic": topic})
    letters = call.request("GET", "/admin/dlq", params=query)["deadLetters"]
    columns = ("deadLetteredAt", "id", "stage", "key")
    lines = ("  ".join(letter[name] for name in columns) + f"\n    {letter['error']}" for letter in letters)
    call.emit(letters, *lines, empty="dead letters")


@dlq.asks("recollect dlq show documents.submitted.v1.dlq/0/12")
def show(
    call: ServiceCall,
    letter: Annotated[str, typer.Argument(metavar="id", help="The id, as `dlq list` shows it.")],
) -> None:
    """Show one dead letter: its error, origin, headers and payload."""
    found = call.request("GET", "/admin/dlq/record", params={"id": letter})
    names = ("id", "deadLetteredAt", "stage", "errorType", "error", "attempts", "key")
    rows = [
        *((name, found[name]) for name in names),
        ("origin", f"{found['topic']}/{found['partition']}/{found['offset']}"),
        *(("header", f"{name}: {value}") for name, value in found["headers"].items()),
        ("payload", f"{found['size']} bytes, {found['encoding']}"),
    ]
    lines = (f"{name:<10} {value}" for name, value in rows)
    call.emit(found, *lines, _format_payload(found))


@dlq.asks(
    "recollect dlq redrive",
    "recollect dlq redrive documents.submitted.v1",
    "recollect dlq redrive documents.submitted.v1.dlq/0/12 --json",
)
def redrive(call: ServiceCall, chosen: TopicsOrIds = None) -> None:
    """Publish dead letters to their topics again, once the cause is fixed. Default: all."""
    service = call.service
    count = _sum_counts(service, "POST", "/admin/dlq/redrive", "redriven", chosen)
    call.emit({"redriven": count}, f"{pluralize(count, 'record')} redriven")


@dlq.asks("recollect dlq drop documents.submitted.v1.dlq/0/12 --yes")
def drop(
    call: ServiceCall,
    chosen: Annotated[list[str], typer.Argument(metavar="topic|id", help="Topics or ids, as `dlq list` shows them.")],
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask.")] = False,
) -> None:
    """Delete dead letters for good, unhandled."""
    service = call.service
    if not yes and not typer.confirm(f"Drop the dead letters of {', '.join(chosen)} for good?", err=True):
        raise error_exit("Nothing was dropped.")
    count = _sum_counts(service, "DELETE", "/admin/dlq", "dropped", chosen)
    call.emit({"dropped": count}, f"{pluralize(count, 'record')} dropped")


def _sum_counts(service: RemoteService, method: str, path: str, count: str, chosen: list[str] | None) -> int:
    """Send requests for all letters of the topics and for the ids; return the sum of a count in the responses.

    No topic and no id: for every topic. Letters that come back meanwhile are left for the next call.
    """
    # An id contains slashes, a topic does not.
    ids = [name for name in chosen or () if "/" in name]
    topics = [name.removesuffix(".dlq") for name in chosen or () if "/" not in name]
    if unknown := sorted(set(topics) - TOPIC_NAMES):
        raise error_exit(f"There is no topic {unknown[0]}: docs/guides/kafka.md lists them.", ExitCode.NOT_FOUND)
    done = service.request(method, path, params={"id": ids})[count] if ids else 0
    waiting: dict[str, int] = service.request("GET", "/admin/status")["deadLetters"] if topics or not ids else {}
    for topic in topics or waiting:
        left = waiting.get(topic, 0)
        while left > 0 and (moved := _move(service, method, path, topic, left)[count]):
            done, left = done + moved, left - moved
    return done


def _move(service: RemoteService, method: str, path: str, topic: str, most: int) -> JsonObject:
    return service.request(method, path, params={"topic": topic, "limit": min(most, MAX_LETTERS_PER_REQUEST)})


def _format_payload(letter: JsonObject) -> str:
    try:
        return json.dumps(json.loads(letter["payload"]), indent=2, ensure_ascii=False)
    except json.JSONDecodeError:
        payload: str = letter["payload"]
        return payload
