"""`recollect buckets`: sections that every profile has."""

from typing import Annotated

import typer

from app.cli.conventions import ExitCode, error_exit
from app.cli.service_command import CommandGroup, ServiceCall
from schemas.base import JsonObject

buckets = CommandGroup(no_args_is_help=True, help="Profile buckets of the whole organization.")

BUCKETS_PATH = "/admin/buckets"
Name = Annotated[str, typer.Argument(help="The bucket's name: lower case, digits, - and _.")]


@buckets.asks("recollect buckets list", "recollect buckets list --json", name="list")
def list_buckets(call: ServiceCall) -> None:
    """List the organization's buckets."""
    _emit_buckets(call, call.request("GET", BUCKETS_PATH))


@buckets.asks("recollect buckets set goals 'What somebody wants to reach: plans, wishes'", name="set")
def set_bucket(
    call: ServiceCall,
    name: Name,
    description: Annotated[str, typer.Argument(help="What belongs into it, in words.")],
) -> None:
    """Add a bucket, or change its description."""
    body = {"buckets": {name: description}}
    answer = call.request("PUT", BUCKETS_PATH, json=body)
    _emit_buckets(call, answer)


@buckets.asks("recollect buckets delete goals", name="delete")
def delete_bucket(call: ServiceCall, name: Name) -> None:
    """Remove a bucket."""
    if name not in call.request("GET", BUCKETS_PATH)["buckets"]:
        raise error_exit(f"There is no bucket {name}: `recollect buckets list` lists them.", ExitCode.NOT_FOUND)
    body = {"buckets": [name]}
    answer = call.request("DELETE", BUCKETS_PATH, json=body)
    _emit_buckets(call, answer)


def _emit_buckets(call: ServiceCall, answer: JsonObject) -> None:
    lines = (f"{name}: {description}" for name, description in answer["buckets"].items())
    call.emit(answer["buckets"], *lines, empty="buckets")
