"""`recollect buckets`: sections that every profile has."""

from typing import Annotated

import typer

from app.cli.conventions import JsonOption, emit, examples_epilog
from app.cli.remote_service import JsonObject, Key, RemoteService, Url

buckets = typer.Typer(no_args_is_help=True, help="Profile buckets of the whole organization.")

BUCKETS_PATH = "/admin/buckets"
Name = Annotated[str, typer.Argument(help="The bucket's name: lower case, digits, - and _.")]


@buckets.command(name="list", epilog=examples_epilog("recollect buckets list", "recollect buckets list --json"))
def list_buckets(*, as_json: JsonOption = False, url: Url = None, key: Key = None) -> None:
    """List the organization's buckets."""
    _emit_buckets(RemoteService.from_options(url, key).request("GET", BUCKETS_PATH), as_json=as_json)


@buckets.command(
    name="set", epilog=examples_epilog("recollect buckets set goals 'What somebody wants to reach: plans, wishes'")
)
def set_bucket(
    name: Name,
    description: Annotated[str, typer.Argument(help="What belongs into it, in words.")],
    *,
    as_json: JsonOption = False,
    url: Url = None,
    key: Key = None,
) -> None:
    """Add a bucket, or change its description."""
    body = {"buckets": {name: description}}
    answer = RemoteService.from_options(url, key).request("PUT", BUCKETS_PATH, json=body)
    _emit_buckets(answer, as_json=as_json)


@buckets.command(name="delete", epilog=examples_epilog("recollect buckets delete goals"))
def delete_bucket(name: Name, *, as_json: JsonOption = False, url: Url = None, key: Key = None) -> None:
    """Remove a bucket."""
    body = {"buckets": [name]}
    answer = RemoteService.from_options(url, key).request("DELETE", BUCKETS_PATH, json=body)
    _emit_buckets(answer, as_json=as_json)


def _emit_buckets(answer: JsonObject, *, as_json: bool) -> None:
    lines = (f"{name}: {description}" for name, description in answer["buckets"].items())
    emit(answer["buckets"], *lines, as_json=as_json, empty="buckets")
