"""`recollect dlq`: dead letters, one by one or all of a topic."""

import json
from typing import Annotated, Any

import typer

from api.commandline.conventions import Json, examples, failure, say_of_none, show_json
from api.remote import Answer, Key, Service, Url

dlq = typer.Typer(no_args_is_help=True, help="Dead letters: records that could not be handled.")

Chosen = Annotated[
    list[str] | None, typer.Argument(help="Topics (documents.submitted.v1) or ids, as `dlq list` shows them.")
]


@dlq.command(
    name="list", epilog=examples("recollect dlq list", "recollect dlq list documents.submitted.v1 --json")
)
def list_letters(
    topic: Annotated[str | None, typer.Argument(help="A topic; none: all.")] = None,
    *,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Records, at most.")] = 100,
    as_json: Json = False,
    url: Url = None,
    key: Key = None,
) -> None:
    """What could not be handled, where it came from, and why."""
    query: dict[str, Any] = {"limit": limit} | ({} if topic is None else {"topic": topic})
    letters = Service.of(url, key).call("GET", "/admin/dlq", params=query)["letters"]
    if as_json:
        show_json(letters)
        return
    say_of_none(letters, "dead letters")
    for letter in letters:
        typer.echo(f"{letter['parkedAt']}  {letter['id']}  {letter['stage']}  {letter['key']}")
        typer.echo(f"    {letter['error']}")


@dlq.command(epilog=examples("recollect dlq show documents.submitted.v1.dlq/0/12"))
def show(
    letter: Annotated[str, typer.Argument(help="Its id, as `dlq list` shows it.")],
    *,
    as_json: Json = False,
    url: Url = None,
    key: Key = None,
) -> None:
    """One dead letter: why it was parked, where it was first read, its headers and what it holds."""
    found = Service.of(url, key).call("GET", "/admin/dlq/letter", params={"id": letter})
    if as_json:
        show_json(found)
        return
    for name in ("id", "parkedAt", "stage", "errorType", "error", "attempts", "key"):
        typer.echo(f"{name:<10} {found[name]}")
    typer.echo(f"{'origin':<10} {found['topic']}/{found['partition']}/{found['offset']}")
    for name, value in found["headers"].items():
        typer.echo(f"{'header':<10} {name}: {value}")
    typer.echo(f"{'payload':<10} {found['size']} bytes, {found['encoding']}")
    typer.echo(_shown(found))


@dlq.command(
    epilog=examples(
        "recollect dlq replay",
        "recollect dlq replay documents.submitted.v1",
        "recollect dlq replay documents.submitted.v1.dlq/0/12 --json",
    )
)
def replay(chosen: Chosen = None, *, as_json: Json = False, url: Url = None, key: Key = None) -> None:
    """Hand them to their topics again, after the cause is gone. Without topics or ids: all."""
    service = Service.of(url, key)
    count = sum(
        service.call("POST", "/admin/dlq/replay", params=query)["replayed"] for query in _queries(chosen)
    )
    if as_json:
        show_json({"replayed": count})
    else:
        typer.echo(f"{count} records replayed")


@dlq.command(epilog=examples("recollect dlq drop documents.submitted.v1.dlq/0/12 --yes"))
def drop(
    chosen: Annotated[list[str], typer.Argument(help="Topics or ids, as `dlq list` shows them.")],
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask.")] = False,
    as_json: Json = False,
    url: Url = None,
    key: Key = None,
) -> None:
    """Let go of them for good: what they say is not handled any more."""
    service = Service.of(url, key)
    if not yes and not typer.confirm(f"Drop the dead letters of {', '.join(chosen)} for good?", err=True):
        raise failure("Nothing was dropped.")
    count = sum(service.call("DELETE", "/admin/dlq", params=query)["dropped"] for query in _queries(chosen))
    if as_json:
        show_json({"dropped": count})
    else:
        typer.echo(f"{count} records dropped")


def _queries(chosen: list[str] | None) -> list[dict[str, Any]]:
    """A topic is asked for by name; an id has slashes, which a topic has not."""
    if not chosen:
        return [{}]
    ids = [one for one in chosen if "/" in one]
    queries: list[dict[str, Any]] = [{"topic": one} for one in chosen if "/" not in one]
    return [*queries, {"id": ids}] if ids else queries


def _shown(found: Answer) -> str:
    try:
        return json.dumps(json.loads(found["payload"]), indent=2, ensure_ascii=False)
    except json.JSONDecodeError:
        payload: str = found["payload"]
        return payload
