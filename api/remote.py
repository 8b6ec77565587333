"""A running service over HTTP, for commands: who it is, what it answers, and how to say that it did not."""

import json
from collections.abc import Iterator
from typing import Annotated, Any

import httpx2
import typer

from api.commandline.configured import configured
from api.commandline.conventions import Ending, ending_of, failure

PAGE = 100
Url = Annotated[str | None, typer.Option(envvar="RECOLLECT_URL", help="Where the service answers.")]
Key = Annotated[str | None, typer.Option(envvar="RECOLLECT_API_KEY", help="An API key.")]
Answer = dict[str, Any]


class Service:
    """A running service, and a key for it."""

    def __init__(self, client: httpx2.Client) -> None:
        self._client = client

    @classmethod
    def of(cls, url: str | None, key: str | None) -> "Service":
        """From the options, the environment, or what the data directory on this machine says."""
        return cls.at(*located(url, key))

    @classmethod
    def at(cls, url: str, key: str) -> "Service":
        """At this address."""
        headers = {"Authorization": f"Bearer {key}"}
        return cls(httpx2.Client(base_url=url, headers=headers, timeout=60.0))

    @property
    def address(self) -> str:
        """Where it is asked."""
        return str(self._client.base_url).rstrip("/")

    def call(self, method: str, path: str, **options: Any) -> Answer:
        """The answer as a dictionary; typer.Exit with the service's own words on standard error otherwise."""
        try:
            response = self._client.request(method, path, **options)
        except httpx2.TransportError as error:
            raise _silence(f"No answer from {self._client.base_url}: {error}") from error
        if response.is_success:
            answer: Answer = response.json()
            return answer
        raise _refusal(response)

    def lines(self, path: str, **options: Any) -> Iterator[bytes]:
        """The lines of an answer, as they come; typer.Exit as for `call`."""
        try:
            with self._client.stream("GET", path, **options) as response:
                if not response.is_success:
                    response.read()
                    raise _refusal(response)
                left = b""
                for part in response.iter_bytes():
                    *whole, left = (left + part).split(b"\n")
                    yield from whole
                if left:
                    yield left
        except httpx2.TransportError as error:
            raise _silence(f"The answer of {self._client.base_url} broke off: {error}") from error

    def fetch(self, path: str) -> bytes:
        """The bytes of an answer; typer.Exit as for `call`."""
        try:
            response = self._client.get(path)
        except httpx2.TransportError as error:
            raise _silence(f"No answer from {self._client.base_url}: {error}") from error
        if not response.is_success:
            raise _refusal(response)
        return response.content

    def pages(self, path: str, body: Answer, kind: str) -> Iterator[Answer]:
        """The items of a list, oldest first."""
        page, last = 1, 1
        while page <= last:
            query = {"page": page, "limit": PAGE, "order": "asc"}
            answer = self.call("POST", path, params=query, json=body)
            yield from answer[kind]
            page, last = page + 1, answer["pagination"]["totalPages"]


def _silence(message: str) -> typer.Exit:
    return failure(message, Ending.UNREACHABLE)


def _refusal(response: httpx2.Response) -> typer.Exit:
    return failure(f"{response.status_code}: {complaint(response)}", ending_of(response.status_code))


def located(url: str | None, key: str | None) -> tuple[str, str]:
    """The address and the key that commands use; typer.Exit where nothing says one of them."""
    address = url or local_address()
    if address is None:
        raise _silence("No service found here. Start one with `recollect serve`, or give --url.")
    secret = key or local_key()
    if secret is None:
        raise failure("No API key. Give --key or set RECOLLECT_API_KEY.", Ending.REFUSED)
    return address, secret


def local_address() -> str | None:
    """Where the server of this machine's data directory answers; None: there is none."""
    path = configured().data_dir / "address"
    return path.read_text().split()[0] if path.exists() else None


def local_key() -> str | None:
    """The admin key of the settings, if one is set: the newest of several."""
    key = configured().admin_key
    return None if key is None else key.get_secret_value().partition(",")[0].strip()


def complaint(response: httpx2.Response) -> str:
    """What a failure says, on one line."""
    try:
        body = response.json()
    except json.JSONDecodeError:
        return response.text[:500]
    error = body.get("error")
    if isinstance(error, list):
        return "; ".join(f"{'.'.join(map(str, part.get('path', [])))}: {part['message']}" for part in error)
    return ". ".join(part.rstrip(".") for part in (error, body.get("details")) if part)
