"""`recollect buckets`: the sections that every profile has."""

from typing import Annotated

import typer

from api.commandline.conventions import Json, examples, say_of_none, show_json
from api.remote import Answer, Key, Service, Url

buckets = typer.Typer(no_args_is_help=True, help="Profile buckets of the whole organization.")

PATH = "/admin/buckets"
Name = Annotated[str, typer.Argument(help="Of the bucket: lower case, digits, - and _.")]


@buckets.command(name="list", epilog=examples("recollect buckets list", "recollect buckets list --json"))
def list_buckets(*, as_json: Json = False, url: Url = None, key: Key = None) -> None:
    """The organization's buckets."""
    _show(Service.of(url, key).call("GET", PATH), as_json=as_json)


@buckets.command(
    name="set", epilog=examples("recollect buckets set goals 'What somebody wants to reach: plans, wishes'")
)
def set_bucket(
    name: Name,
    description: Annotated[str, typer.Argument(help="What belongs into it, in words.")],
    *,
    as_json: Json = False,
    url: Url = None,
    key: Key = None,
) -> None:
    """Add a bucket, or describe it anew."""
    answer = Service.of(url, key).call("PUT", PATH, json={"buckets": {name: description}})
    _show(answer, as_json=as_json)


@buckets.command(name="delete", epilog=examples("recollect buckets delete goals"))
def delete_bucket(name: Name, *, as_json: Json = False, url: Url = None, key: Key = None) -> None:
    """Remove a bucket."""
    _show(Service.of(url, key).call("DELETE", PATH, json={"buckets": [name]}), as_json=as_json)


def _show(answer: Answer, *, as_json: bool) -> None:
    if as_json:
        show_json(answer["buckets"])
        return
    say_of_none(answer["buckets"], "buckets")
    for name, description in answer["buckets"].items():
        typer.echo(f"{name}: {description}")
