"""HTTP client of a running service for commands; failures end the command with an exit code."""

import json
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import httpx2
import typer

from api.mcp.service_client import error_message
from app.cli.cli_settings import load_settings
from app.cli.conventions import ExitCode, error_exit, exit_code_for_status
from app.cli.importing.patient_requests import send_patiently
from app.data_directories import data_dirs_of_services, read_address, read_admin_key
from pipeline.settings import Settings
from schemas.base import JsonObject

PAGE_SIZE = 100
CONNECT_TIMEOUT_SECONDS = 5.0
HEALTH_TIMEOUT_SECONDS = 30.0
"""Patience with a service that took the connection: on a busy machine its start holds up answers for seconds."""
NOT_FOUND = 404
_ARGUMENTS = {"query": "QUERY", "content": "TEXT", "namespace": "NAMESPACE", "ids": "IDS", "buckets": "NAME"}
"""Fields of request bodies and paths that commands take as arguments; all others are options."""
_OPTIONS = {"searchMode": "mode", "namespaces": "namespace", "scopes": "scope"}
"""Fields whose option has another name."""
_FIELD_ERROR = re.compile(r"(?:^|(?<=; ))([a-zA-Z]+)(?:\.[\w.]+)?: (?:\1: )?")
Url = Annotated[str | None, typer.Option(envvar="RECOLLECT_URL", help="The address of the service.")]
Key = Annotated[str | None, typer.Option(envvar="RECOLLECT_API_KEY", help="An API key.")]


class RemoteService:
    """A running service and an API key for it. Every method raises typer.Exit on failure."""

    def __init__(self, client: httpx2.Client) -> None:
        self._client = client

    @classmethod
    def from_options(cls, url: str | None, key: str | None) -> "RemoteService":
        """Connect with the options, the environment, or the address in the data directory."""
        return cls.connect(*resolve_endpoint(url, key))

    @classmethod
    def connect(cls, url: str, key: str) -> "RemoteService":
        headers = {"Authorization": f"Bearer {key}"}
        return cls(httpx2.Client(base_url=url, headers=headers, timeout=60.0))

    @property
    def address(self) -> str:
        """The base URL, without a slash at the end."""
        return str(self._client.base_url).rstrip("/")

    def request(self, method: str, path: str, **options: Any) -> JsonObject:
        with self._open_response(method, path, **options) as response:
            body: JsonObject = json.loads(response.read())
            return body

    def send(self, request: str, body: JsonObject, *, tolerated: Collection[int]) -> httpx2.Response:
        """Send a request such as `POST /path` that may be repeated, waiting while the service is busy.

        Returns a successful response, or one with a tolerated status.
        """
        method, _, path = request.partition(" ")
        try:
            response = send_patiently(self._client, method, path, json=body)
        except httpx2.TransportError as error:
            raise _unreachable(self._client, error) from error
        if response.is_success or response.status_code in tolerated:
            return response
        raise _failure(response)

    def find(self, path: str, **options: Any) -> JsonObject | None:
        """Return the JSON object of a GET request; None if there is none (404)."""
        with self._open_response("GET", path, expected_status=NOT_FOUND, **options) as response:
            body: JsonObject = json.loads(response.read())
            return None if response.status_code == NOT_FOUND else body

    def fetch_bytes(self, path: str) -> bytes:
        with self._open_response("GET", path) as response:
            return response.read()

    def stream_lines(self, path: str, **options: Any) -> Iterator[bytes]:
        """Yield the lines of a response while they arrive."""
        with self._open_response("GET", path, **options) as response:
            rest = b""
            for part in response.iter_bytes():
                *lines, rest = (rest + part).split(b"\n")
                yield from lines
            if rest:
                yield rest

    def iterate_items(self, method: str, path: str, item_key: str, query: JsonObject, **options: Any) -> Iterator[Any]:
        """Yield the items of a list that is answered in pages."""
        page, last = 1, 1
        while page <= last:
            place = {"page": page, "limit": PAGE_SIZE}
            answer = self.request(method, path, params=query | place, **options)
            yield from answer[item_key]
            page, last = page + 1, answer["pagination"]["totalPages"]

    @contextmanager
    def _open_response(
        self, method: str, path: str, *, expected_status: int | None = None, **options: Any
    ) -> Iterator[httpx2.Response]:
        """Open a successful response; its body is not read yet."""
        try:
            with self._client.stream(method, path, **options) as response:
                if not response.is_success and response.status_code != expected_status:
                    response.read()
                    raise _failure(response)
                yield response
        except httpx2.TransportError as error:
            raise _unreachable(self._client, error) from error


def _failure(response: httpx2.Response) -> typer.Exit:
    message = f"{response.status_code}: {name_options(error_message(response))}"
    return error_exit(message, exit_code_for_status(response.status_code))


def _unreachable(client: httpx2.Client, error: httpx2.TransportError) -> typer.Exit:
    return error_exit(f"No complete answer from {client.base_url}: {error}", ExitCode.UNREACHABLE)


def name_options(message: str) -> str:
    """Name the option or argument instead of the field of the request that a message is about."""

    def option(match: re.Match[str]) -> str:
        field = match[1]
        kebab = re.sub(r"([A-Z])", r"-\1", _OPTIONS.get(field, field)).lower()
        return f"{_ARGUMENTS.get(field, '--' + kebab)}: "

    return _FIELD_ERROR.sub(option, message)


def resolve_endpoint(url: str | None, key: str | None) -> tuple[str, str]:
    """Return the address and the key that a command uses; typer.Exit if either is unknown."""
    settings = load_settings()
    service = LocalService(url, _folder_of(url, settings)) if url else _require_local_service(settings)
    return service.address, resolve_key(key, settings, service.folder)


def resolve_key(key: str | None, settings: Settings, folder: Path | None) -> str:
    """Return the key that a command uses; typer.Exit if there is none."""
    secret = find_key(key, settings, folder)
    if secret is None:
        hint = "No API key. Give --key or set RECOLLECT_API_KEY. `recollect serve` printed one at its first start."
        raise error_exit(hint, ExitCode.UNAUTHORIZED)
    return secret


def find_key(key: str | None, settings: Settings, folder: Path | None) -> str | None:
    """Return the key of an option, else of the settings, else the one that the service in the folder generated."""
    return key or _admin_key_of(settings) or (read_admin_key(folder) if folder else None)


@dataclass(frozen=True, slots=True)
class LocalService:
    """A service that answers on this machine, and its data directory if that is known."""

    address: str
    folder: Path | None


def find_local_service(settings: Settings) -> LocalService | None:
    """Return the first service of this machine that answers.

    Looked at are the data directory that the settings name; without one `.recollect`, the user's data directory and
    the default port.
    """
    return next((candidate for candidate in _candidates(settings) if is_healthy(candidate.address)), None)


def _require_local_service(settings: Settings) -> LocalService:
    """Return the first service that answers; typer.Exit with everything that was tried if none does."""
    service = find_local_service(settings)
    if service is not None:
        return service
    tried = [f"{candidate.address} ({candidate.folder or 'default port'})" for candidate in _candidates(settings)]
    places = ", ".join(tried) or f"{settings.data_dir} names no address"
    hint = "Start one with `recollect serve`, or give --url."
    raise error_exit(f"No service answers on this machine: {places}. {hint}", ExitCode.UNREACHABLE)


def is_healthy(address: str) -> bool:
    """Return whether a recollect service answers at an address; no key is sent."""
    try:
        answer = httpx2.get(
            f"{address}/health", timeout=httpx2.Timeout(HEALTH_TIMEOUT_SECONDS, connect=CONNECT_TIMEOUT_SECONDS)
        )
        return answer.is_success and answer.json() == {"status": "ok"}
    except (httpx2.TransportError, ValueError):
        return False


def _candidates(settings: Settings) -> Iterator[LocalService]:
    folders = _folders(settings)
    for folder in folders:
        if address := read_address(folder):
            yield LocalService(address, folder)
    if len(folders) > 1:
        yield LocalService(f"http://127.0.0.1:{Settings.model_fields['port'].default}", None)


def _folders(settings: Settings) -> list[Path]:
    usual = data_dirs_of_services()
    return usual if settings.data_dir in usual else [settings.data_dir]


def _folder_of(url: str, settings: Settings) -> Path | None:
    """Return the data directory whose service recorded this address, if any."""
    return next((folder for folder in _folders(settings) if read_address(folder) == url.rstrip("/")), None)


def _admin_key_of(settings: Settings) -> str | None:
    """Return the admin key of the settings, the newest of several; None if none is set."""
    key = settings.admin_key
    return None if key is None else key.get_secret_value().partition(",")[0].strip()
