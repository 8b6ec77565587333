"""A real S3 server (see tools/s3_server.py) behind a door that counts, checks and refuses on demand.

What is asked is checked with the description of S3 that Amazon publishes in botocore.
"""

import asyncio
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import httpx2
from botocore.loaders import Loader
from obstore.store import S3Store

from tools.s3_server import S3Server, run_s3_server

SIGNING_HEADERS = frozenset({"authorization", "x-amz-date", "x-amz-content-sha256"})
TRANSPORT_HEADERS = frozenset({"host", "accept", "accept-encoding", "connection", "user-agent"})


@cache
def _described() -> Any:
    return Loader().load_service_model("s3", "service-2")


def _described_parameters(operation: str, place: str) -> set[str]:
    model = _described()
    shape = model["shapes"][model["operations"][operation]["input"]["shape"]]
    return {member["locationName"].lower() for member in shape["members"].values() if member.get("location") == place}


def violations(operation: str, request: httpx2.Request) -> list[str]:
    """Parameters and headers that S3's description does not know."""
    query = {name for name, _ in parse_qsl(request.url.query.decode(), keep_blank_values=True)}
    parameters = _described_parameters(operation, "querystring") | {"list-type"}
    headers = {name.lower() for name in request.headers} - SIGNING_HEADERS - TRANSPORT_HEADERS
    return [f"{operation}?{name}" for name in query - parameters] + [
        f"{operation}: {name}" for name in headers - _described_parameters(operation, "header")
    ]


def error_response(
    status: int, code: str, *, headers: Mapping[str, str] | None = None, operation: str | None = None
) -> "S3ErrorResponse":
    """An error as S3 words it."""
    xml = f'<?xml version="1.0"?><Error><Code>{code}</Code><Message>No</Message></Error>'
    return S3ErrorResponse(status, xml.encode(), dict(headers or {}), operation)


@dataclass(frozen=True)
class S3ErrorResponse:
    """An answer instead of the server's, for the next request of an operation (None: of any)."""

    status: int
    body: bytes
    headers: dict[str, str]
    operation: str | None


@dataclass
class S3FaultProxy(httpx2.AsyncBaseTransport):
    """The way to the server."""

    inner: httpx2.AsyncBaseTransport = field(default_factory=httpx2.AsyncHTTPTransport)
    calls: list[str] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    refusals: list[S3ErrorResponse] = field(default_factory=list)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        operation = "ListObjectsV2" if "list-type" in request.url.params else "GetObject"
        self.calls.append(operation)
        self.violations += violations(operation, request)
        for refused in self.refusals:
            if refused.operation in (None, operation):
                self.refusals.remove(refused)
                return httpx2.Response(refused.status, headers=refused.headers, content=refused.body)
        return await self.inner.handle_async_request(request)

    async def aclose(self) -> None:
        await self.inner.aclose()

    def drain_operations(self) -> list[str]:
        """The operations asked for since the last time, in order."""
        names = [*self.calls]
        self.calls.clear()
        return names


class BucketPrefix:
    """A prefix of the server's bucket that can be changed."""

    def __init__(self, server: S3Server) -> None:
        self.server = server
        self.prefix = server.unused_uri().rpartition("/")[2] + "/"
        options = server.options
        self._store = S3Store(
            "recollect",
            endpoint=options["endpoint"],
            region=options["region"],
            access_key_id=options["access_key_id"],
            secret_access_key=options["secret_access_key"],
            client_options={"allow_http": True},
        )

    async def put(self, key: str, data: str | bytes, **attributes: str) -> None:
        """A new or changed object; `attributes`: its headers as obstore names them, and its owner's own."""
        content = data.encode() if isinstance(data, str) else data
        await self._store.put_async(self.prefix + key, content, attributes=attributes or None)

    async def delete(self, key: str) -> None:
        """Take an object away."""
        await self._store.delete_async(self.prefix + key)

    @property
    def config(self) -> dict[str, str | float | bool]:
        """Visible configuration of a connector."""
        options = self.server.options
        return {
            "bucket": "recollect",
            "region": options["region"],
            "endpoint": options["endpoint"],
            "prefix": self.prefix,
        }

    @property
    def secrets(self) -> dict[str, str]:
        """Secrets of a connector."""
        options = self.server.options
        return {"accessKeyId": options["access_key_id"], "secretAccessKey": options["secret_access_key"]}


async def demo(objects: BucketPrefix) -> None:
    """A small world for the demonstration."""
    await objects.put("handbook/leave.md", "# Leave\n\nEverybody has 30 days of leave.\n")
    await objects.put("handbook/coffee.txt", "The coffee machine is on the third floor.\n")


def _serve() -> None:
    """Serve until standard input ends."""
    with tempfile.TemporaryDirectory() as folder, run_s3_server(Path(folder) / "s3") as server:
        objects = BucketPrefix(server)
        asyncio.run(demo(objects))
        print(server.endpoint, objects.prefix, flush=True)  # noqa: T201 - whoever starts it reads its address
        sys.stdin.read()


if __name__ == "__main__":
    _serve()
