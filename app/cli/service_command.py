"""Commands that ask a running service: each has --json, --url and --key, and examples in its help."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, wraps
from inspect import Parameter, Signature, signature
from typing import Any

import typer
from rich.table import Table

from app.cli.conventions import JsonOption, emit, examples_epilog
from app.cli.remote_service import Key, RemoteService, Url
from schemas.base import JsonObject


@dataclass(frozen=True)
class ServiceCall:
    """Common options of a command: which service to ask, and how to write the answer."""

    as_json: bool
    url: str | None
    key: str | None

    @cached_property
    def service(self) -> RemoteService:
        """The service; typer.Exit if none answers, or there is no key."""
        return RemoteService.from_options(self.url, self.key)

    def request(self, method: str, path: str, **options: Any) -> JsonObject:
        return self.service.request(method, path, **options)

    def emit(self, value: Any, *lines: str | Table, empty: str = "results") -> None:
        emit(value, *lines, as_json=self.as_json, empty=empty)


class CommandGroup(typer.Typer):
    """Commands, of which those that ask a service get a `ServiceCall` as their first argument."""

    def asks(
        self, *examples: str, name: str | None = None, json_option: Any = JsonOption
    ) -> Callable[[Callable[..., None]], Callable[..., None]]:
        """Add a command that asks a service."""
        common = (("as_json", json_option, False), ("url", Url, None), ("key", Key, None))
        options = [Parameter(each, Parameter.KEYWORD_ONLY, annotation=kind, default=off) for each, kind, off in common]

        def declare(function: Callable[..., None]) -> Callable[..., None]:
            @wraps(function)
            def command(*, as_json: bool, url: str | None, key: str | None, **own: Any) -> None:
                function(ServiceCall(as_json, url, key), **own)

            parameters = [*list(signature(function).parameters.values())[1:], *options]
            command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]  # typer reads the options from it
            command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
            return self.command(name, epilog=examples_epilog(*examples))(command)

        return declare


app = CommandGroup(no_args_is_help=True)
"""The command line; modules of `app.cli.commands` add their commands, and `app.cli.main` orders them."""
