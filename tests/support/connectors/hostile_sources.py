"""Sources whose answers go wrong at random: errors per item, missing and null fields, unexpected types.

python -m tests.support.connectors.hostile_sources 300
"""

import asyncio
import json
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote
from zlib import crc32

import httpx2
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from connectors.client.http_client import HttpClients
from connectors.provider_interface import Connection, Provider
from connectors.providers.github.provider import GitHub
from connectors.providers.gmail.provider import Gmail
from connectors.providers.google.oauth_client import GoogleOAuthClient
from connectors.providers.granola.provider import Granola
from connectors.providers.s3.provider import S3
from connectors.providers.web_crawler.provider import WebCrawler
from connectors.sync_messages import RemovedItem
from schemas.events import ConnectorAccount
from tests.support.connectors.in_memory_sync import InMemorySync, VirtualSleep, connect, http_clients
from tests.support.connectors.provider_harness import FixedTokenSource
from tests.support.fakes import FixedClock
from tests.support.providers.github_double import GitHubDouble
from tests.support.providers.gmail_double import AttachedFile, GmailDouble
from tests.support.providers.granola_double import GranolaDouble
from tests.support.providers.web_site_double import WebSiteDouble

_STATUSES = (400, 403, 405, 409, 413, 418, 422, 500, 502, 504)
"""Errors of one item: none of them says that the item is gone, or that the account may do nothing."""
_VALUES: tuple[Any, ...] = (None, 7, "unexpected", [], {}, [None], {"type": "unknown"}, True)
_ITEMS = 12


@dataclass
class HostileApp:
    """An application before another one, which spoils answers to requests about items.

    The same request goes wrong in the same way until `seed` changes, so that repeating it does not help. `identity`
    names the keys without which an entry of a list is about nothing.
    """

    inner: ASGIApp
    seed: int
    is_item: Callable[[str], bool]
    identity: frozenset[str]
    is_hostile: bool = True

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = await _answer_of(self.inner, scope, receive)
        path = scope.get("path", "")
        # Reproducible choices, not secrets.
        choice = random.Random(f"{self.seed} {path} {scope.get('query_string')}")  # noqa: S311 - see above
        if self.is_hostile and self.is_item(path) and answer.status_code == 200 and choice.random() < 0.6:
            answer = self._spoil(answer, choice)
        await answer(scope, receive, send)

    def _spoil(self, answer: Response, choice: random.Random) -> Response:
        headers = {"content-type": answer.headers.get("content-type", "")}
        way = choice.randrange(4)
        if way == 0:
            return Response(b'{"message": "spoiled"}', choice.choice(_STATUSES), headers)
        try:
            body = json.loads(bytes(answer.body))
        except ValueError:
            return Response(_spoiled_bytes(bytes(answer.body), choice), 200, headers)
        if way == 1:
            # An empty list in place of a list would say that there is nothing.
            nothing = [b"{}"] if isinstance(body, list) else [b"[]", b"{}"]
            return Response(choice.choice([b"", b"<html>", b"null", b'"text"', *nothing]), 200, headers)
        for _ in range(choice.randint(1, 3)):
            self._spoil_value(body, choice)
        return Response(json.dumps(_reordered(body, choice)).encode(), 200, headers)

    def _spoil_value(self, value: Any, choice: random.Random) -> None:
        """Delete or replace one value somewhere inside, unless it identifies an entry."""
        while isinstance(value, (dict, list)) and value:
            keys = [key for key in value if key not in self.identity] if isinstance(value, dict) else range(len(value))
            if not keys:
                return
            key: Any = choice.choice(list(keys))
            if isinstance(value[key], (dict, list)) and value[key] and choice.random() < 0.7:
                value = value[key]
            elif isinstance(value, dict) and choice.random() < 0.4:
                del value[key]
                return
            elif isinstance(value, dict):
                value[key] = deepcopy(choice.choice(_VALUES))  # else spoiling it again could put it into itself
                return
            else:
                return


async def _answer_of(app: ASGIApp, scope: Scope, receive: Receive) -> Response:
    status, headers, body = 200, httpx2.Headers(), bytearray()

    async def send(message: Message) -> None:
        nonlocal status, headers
        if message["type"] == "http.response.start":
            status, headers = message["status"], httpx2.Headers(message["headers"])
        else:
            body.extend(message.get("body", b""))

    await app(scope, receive, send)
    kept = {name: value for name, value in headers.items() if name != "content-length"}
    return Response(bytes(body), status, kept)


def _spoiled_bytes(data: bytes, choice: random.Random) -> bytes:
    return choice.choice([data[: len(data) // 2], b"", b"\x00\xff" * 50, data + b"<", data.replace(b">", b"")])


def _reordered(value: Any, choice: random.Random) -> Any:
    if isinstance(value, dict):
        keys = list(value)
        choice.shuffle(keys)
        return {key: _reordered(value[key], choice) for key in keys}
    return [_reordered(each, choice) for each in value] if isinstance(value, list) else value


@dataclass
class HostileSource:
    """A provider before a hostile source, with the ids of all that there is."""

    provider: Provider
    connection: Connection
    app: HostileApp
    ids: Sequence[str]
    sync: InMemorySync = field(default_factory=InMemorySync)

    async def lost(self) -> list[str]:
        """Run once; return the ids that neither arrived nor failed, nor stand in a part that failed as a whole."""
        await self.sync.run(self.provider, self.connection)
        failed = tuple(f"{id_.removeprefix('repository/')}/" for id_ in self.sync.failures)
        return [
            id_
            for id_ in self.ids
            if id_ not in self.sync.items and id_ not in self.sync.failures and not id_.startswith(failed)
        ]

    @property
    def removals(self) -> list[str]:
        """Ids of existing items whose removal was claimed in the last run."""
        return [step.id for step in self.sync.messages if isinstance(step, RemovedItem) and step.id in self.ids]


def gmail_source(seed: int) -> HostileSource:
    """Threads with plain and HTML bodies and attachments."""
    mail = GmailDouble()
    plan = AttachedFile("plan.txt", "text/plain", b"The plan")
    ids = [
        mail.deliver(f"Subject {number}", "Text", html="<p>Text</p>", attached=[plan] if number % 3 == 0 else [])[0]
        for number in range(_ITEMS)
    ]
    app = HostileApp(
        mail, seed, lambda path: "/threads/" in path or "/attachments/" in path, frozenset({"id", "labelIds"})
    )
    provider = Gmail(GoogleOAuthClient("id", "secret", mail.address), clock=FixedClock(mail.now))
    connection = connect(provider, http_clients(app), mail.accounts)
    return HostileSource(
        provider, replace(connection, account=ConnectorAccount(name="a@b.c", webhook_id="a@b.c")), app, ids
    )


def github_source(seed: int) -> HostileSource:
    """Two repositories with files, issues, and a reviewed pull request."""
    github, ids, chosen = GitHubDouble(), list[str](), list[str]()
    for name in ("octo/one", "octo/two"):
        paths = [f"docs/{number}.md" for number in range(_ITEMS // 3)]
        repo = github.repo(name, {path: f"# {path}" for path in paths})
        for number in range(_ITEMS // 3):
            repo.comment(repo.open(f"Issue {number}", "Body"), "Comment")
        pull = repo.open("Pull request", "Body", pull=True)
        repo.comment_line(pull, repo.review(pull, "Review"), "Line comment")
        chosen.append(str(repo.id))
        ids += [f"{repo.id}/blob/{path}" for path in paths]
        ids += [f"{repo.id}/issues/{number}" for number in repo.issues]
    app = HostileApp(
        github,
        seed,
        lambda path: any(part in path for part in ("/blobs/", "/issues", "/pulls", "/commits/")),
        frozenset({"id", "number"}),
    )
    provider = GitHub("id", "secret", clock=FixedClock())
    return HostileSource(provider, _with_token(provider, app, "gho_good", selection={"repos": chosen}), app, ids)


def granola_source(seed: int) -> HostileSource:
    """Notes with transcripts."""
    granola = GranolaDouble()
    notes = [granola.note(f"Note {number}", "Summary") for number in range(_ITEMS)]
    for note in notes:
        note.said = [("microphone", "Hello."), ("speaker", "Hi.")]
    app = HostileApp(granola, seed, lambda path: "/notes/" in path, frozenset({"id", "folder_membership"}))
    provider = Granola()
    connection = replace(connect(provider, http_clients(app)), secrets={"apiKey": "grn_good"})
    return HostileSource(provider, connection, app, [note.id for note in notes])


def s3_source(seed: int) -> HostileSource:
    """Objects of a bucket, also under keys with dot segments."""
    keys = [*(f"docs/{number}.txt" for number in range(_ITEMS)), "a/./b.txt", "a/../c.txt", "#?%.txt"]

    async def bucket(scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        if request.url.path.rstrip("/").count("/") <= 1:
            listed = "".join(
                f"<Contents><Key>{quote(key)}</Key><ETag>1</ETag><Size>9</Size>"
                "<LastModified>2026-03-01T00:00:00Z</LastModified></Contents>"
                for key in sorted(keys)
            )
            answer = Response(
                f"<ListBucketResult><EncodingType>url</EncodingType>{listed}</ListBucketResult>",
                media_type="application/xml",
            )
        else:
            answer = Response(f"Text of {request.url.path}", media_type="text/plain")
        await answer(scope, receive, send)

    app = HostileApp(bucket, seed, lambda path: path.rstrip("/").count("/") > 1, frozenset())
    provider = S3()
    config = {"bucket": "papers", "region": "eu-west-1", "endpoint": "https://store.test"}
    secrets = {"accessKeyId": "key", "secretAccessKey": "secret"}
    connection = replace(connect(provider, http_clients(app, app), config=config), secrets=secrets)
    return HostileSource(provider, connection, app, [f"s3://papers/{key}" for key in keys])


def web_source(seed: int) -> HostileSource:
    """Pages of a site."""
    site = WebSiteDouble()
    names = [f"/{number}" for number in range(_ITEMS)]
    site.page("/", "Welcome.", *names)
    for name in names:
        site.page(name, f"The page {name} tells about lighthouses.")
    app = HostileApp(site, seed, lambda path: path in names, frozenset())
    provider = WebCrawler(sleep=VirtualSleep().sleep, clock=FixedClock())
    config: Mapping[str, Any] = {"startUrl": f"{site.address}/", "crawlDepth": 2}
    connection = connect(provider, http_clients(app, app), config=config)
    return HostileSource(provider, connection, app, [f"{site.address}{name}" for name in ["/", *names]])


SOURCES: Mapping[str, Callable[[int], HostileSource]] = {
    "gmail": gmail_source,
    "github": github_source,
    "granola": granola_source,
    "s3": s3_source,
    "web-crawler": web_source,
}


def _with_token(provider: Provider, app: ASGIApp, token: str, **more: Any) -> Connection:
    clients: HttpClients = http_clients(app)
    connection = connect(provider, clients, **more)
    connection.http._token_source = FixedTokenSource(token)
    return connection


async def _measure(runs: int) -> None:
    print("| | Runs | Items | Arrived | Failed | Ended runs | Lost |\n|---|---:|---:|---:|---:|---:|---:|")  # noqa: T201
    for name, build in SOURCES.items():
        items = arrived = ended = lost = 0
        for seed in range(runs):
            source = build(crc32(f"{name} {seed}".encode()))
            items += len(source.ids)
            try:
                lost += len(await source.lost())
            except Exception as error:  # noqa: BLE001 - counted
                ended += 1
                print(name, seed, repr(error), file=sys.stderr)  # noqa: T201
            arrived += len(set(source.ids) & source.sync.items.keys())
        failed = items - arrived - lost
        print(f"| {name} | {runs} | {items:,} | {arrived:,} | {failed:,} | {ended} | {lost} |", flush=True)  # noqa: T201


if __name__ == "__main__":
    asyncio.run(_measure(int(sys.argv[1])))
