"""A tiny source of our own for the engine: a shelf of texts with pages, changes, tokens and signed events."""

import hmac
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import httpx2
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from connectors.concurrency import mapped
from connectors.errors import CursorExpiredError, ForgedError
from connectors.http import checked
from connectors.ports import (
    Account,
    Checkpoint,
    Connection,
    Cursor,
    Delivery,
    Entry,
    Failure,
    Hint,
    Item,
    Kind,
    Known,
    OAuth,
    Pace,
    Page,
    Provider,
    Receipt,
    Removed,
    Step,
    Subscription,
)

ORIGIN = "https://shelf.test"
SECRET = "the-client-secret-of-the-shelf"
PAGE = 100


@dataclass
class Text:
    """One thing on the shelf; `board` is what can be selected."""

    title: str
    text: str
    board: str
    version: int


@dataclass
class Shelf:
    """The double: a world, an API over it, and faults on demand."""

    texts: dict[str, Text] = field(default_factory=dict)
    deleted: dict[str, int] = field(default_factory=dict)
    version: int = 0
    oldest: int = 0
    calls: list[str] = field(default_factory=list)
    answers: list[Response] = field(default_factory=list)
    """Given instead of the true ones."""
    broken: set[str] = field(default_factory=set)
    tokens: dict[str, str] = field(default_factory=dict)
    """Access token by refresh token."""
    given: int = 0
    hooks: dict[str, str] = field(default_factory=dict)

    def put(self, key: str, text: str, *, board: str = "a", title: str | None = None) -> None:
        self.version += 1
        self.deleted.pop(key, None)
        self.texts[key] = Text(title or key, text, board, self.version)

    def remove(self, key: str) -> None:
        self.version += 1
        del self.texts[key]
        self.deleted[key] = self.version

    def forget_history(self) -> None:
        """Cursors of before are good no more."""
        self.version += 1
        self.oldest = self.version

    def expire(self) -> None:
        """Access tokens are good no more; refresh tokens still are."""
        self.tokens = dict.fromkeys(self.tokens, "")

    def withdraw(self) -> None:
        """Only the user can help now."""
        self.tokens = {}

    def transport(self) -> httpx2.AsyncBaseTransport:
        return httpx2.ASGITransport(self.app())

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/token", self._token, methods=["POST"]),
                Route("/me", self._guarded(self._me)),
                Route("/boards", self._guarded(self._boards)),
                Route("/texts", self._guarded(self._list)),
                Route("/texts/{key:path}", self._guarded(self._read)),
                Route("/changes", self._guarded(self._changes)),
                Route("/hooks", self._guarded(self._hook), methods=["POST"]),
                Route("/hooks/{key}", self._guarded(self._unhook), methods=["DELETE"]),
            ]
        )

    def _guarded(self, answer: Any) -> Any:
        async def guarded(request: Request) -> Response:
            self.calls.append(f"{request.method} {request.url.path}")
            if self.answers:
                return self.answers.pop(0)
            token = request.headers.get("authorization", "").removeprefix("Bearer ")
            if not token or token not in self.tokens.values():
                return JSONResponse({"error": "who are you"}, 401)
            made: Response = await answer(request)
            return made

        return guarded

    async def _token(self, request: Request) -> Response:
        self.calls.append("POST /token")
        form = await request.form()
        if form["client_secret"] != SECRET:
            return JSONResponse({"error": "invalid_client"}, 401)
        if form["grant_type"] == "refresh_token":
            if form["refresh_token"] not in self.tokens:
                return JSONResponse({"error": "invalid_grant"}, 400)
            del self.tokens[str(form["refresh_token"])]  # rotated: good once
        elif form["code"] != "a-code" or not form.get("code_verifier"):
            return JSONResponse({"error": "invalid_grant"}, 400)
        self.given += 1
        access, refresh = f"planted-access-{self.given}", f"planted-refresh-{self.given}"
        self.tokens[refresh] = access
        return JSONResponse(
            {"access_token": access, "refresh_token": refresh, "token_type": "bearer", "expires_in": 3600}
        )

    async def _me(self, _: Request) -> Response:
        return JSONResponse({"id": "u1", "name": "reader@shelf.test"})

    async def _boards(self, request: Request) -> Response:
        boards = sorted({text.board for text in self.texts.values()})
        query, page = request.query_params.get("q", ""), int(request.query_params.get("page", "0"))
        found = [board for board in boards if query in board]
        more = str(page + 1) if len(found) > (page + 1) * 20 else None
        return JSONResponse({"boards": found[page * 20 : (page + 1) * 20], "next": more})

    async def _list(self, request: Request) -> Response:
        start = int(request.query_params.get("page", "0"))
        newest = sorted(self.texts, key=lambda key: -self.texts[key].version)
        shown = newest[start * PAGE : (start + 1) * PAGE]
        more = start + 1 if len(newest) > (start + 1) * PAGE else None
        return JSONResponse({"texts": [self._shown(key) for key in shown], "next": more, "now": self.version})

    async def _read(self, request: Request) -> Response:
        key = request.path_params["key"]
        if key in self.broken:
            return JSONResponse({"error": "unreadable"}, 403)
        text = self.texts.get(key)
        if text is None:
            return JSONResponse({"error": "gone"}, 404)
        return JSONResponse({**self._shown(key), "text": text.text})

    async def _changes(self, request: Request) -> Response:
        since = int(request.query_params["since"])
        if since < self.oldest:
            return JSONResponse({"error": "too old"}, 410)
        changed = [key for key, text in self.texts.items() if text.version > since]
        gone = [key for key, version in self.deleted.items() if version > since]
        return JSONResponse(
            {"changed": [self._shown(key) for key in changed], "gone": gone, "now": self.version}
        )

    async def _hook(self, request: Request) -> Response:
        body = await request.json()
        self.hooks[body["address"]] = body["secret"]
        return JSONResponse({"id": "hook-1"})

    async def _unhook(self, _: Request) -> Response:
        self.hooks.clear()
        return Response(status_code=204)

    def _shown(self, key: str) -> dict[str, Any]:
        text = self.texts[key]
        return {"key": key, "title": text.title, "board": text.board, "version": str(text.version)}


class ShelfProvider(Provider):
    """The provider of the shelf; it goes by a name that the contract knows."""

    name = "github"
    kinds = ("repos",)
    webhooks = True
    pace = Pace(per_second=100_000, concurrent=16, burst=1000)

    def __init__(self, secret: str = SECRET, at: str = ORIGIN) -> None:
        self._at = at
        self.origins = frozenset({at})
        self.oauth = OAuth(
            authorize_url=f"{at}/authorize",
            token_url=f"{at}/token",
            client_id="recollect",
            client_secret=secret,
            scopes=("read",),
        )

    async def sync(self, connection: Connection, cursor: Cursor | None, known: Known) -> AsyncIterator[Step]:
        if cursor is None or "page" in cursor:
            async for step in self._list(connection, cursor or {"page": 0}, known):
                yield step
        else:
            async for step in self._changes(connection, cursor, known):
                yield step

    async def _list(self, connection: Connection, cursor: Cursor, known: Known) -> AsyncIterator[Step]:
        page: Any = cursor["page"]
        now = cursor.get("now")
        while page is not None:
            listed = checked(await connection.http.get(f"{self._at}/texts", params={"page": page}))
            now = listed["now"] if now is None else now
            async for step in self._fetched(connection, listed["texts"], known):
                yield step
            page = listed["next"]
            if page is not None:
                yield Checkpoint({"page": page, "now": now})
        yield Checkpoint({"since": now})

    async def _changes(self, connection: Connection, cursor: Cursor, known: Known) -> AsyncIterator[Step]:
        for key in await known.failed():
            yield await self._read(connection, key)
        answer = await connection.http.get(f"{self._at}/changes", params={"since": cursor["since"]})
        if answer.status_code == 410:
            raise CursorExpiredError
        changed = checked(answer)
        for key in changed["gone"]:
            yield Removed(key)
        for one in changed["changed"]:
            if not self._in(connection, one):
                yield Removed(one["key"])
        async for step in self._fetched(connection, changed["changed"], known):
            yield step
        yield Checkpoint({"since": changed["now"]})

    async def _fetched(
        self, connection: Connection, listed: Sequence[Mapping[str, Any]], known: Known
    ) -> AsyncIterator[Step]:
        mine = [one for one in listed if self._in(connection, one)]
        wanted = await known.wanted([(one["key"], one["version"]) for one in mine])
        keys = [one["key"] for one in mine if one["key"] in wanted]
        async for step in mapped(keys, lambda key: self._read(connection, key), 16):
            yield step

    async def _read(self, connection: Connection, key: str) -> Step:
        answer = await connection.http.get(f"{self._at}/texts/{key}")
        if answer.status_code == 404:
            return Removed(key)
        if answer.status_code == 403:
            return Failure(key, "This text can't be read. Ask its owner for access.", key, again=True)
        text = checked(answer)
        return Item(
            id=key,
            version=text["version"],
            title=text["title"],
            text=text["text"],
            url=f"{self._at}/texts/{key}",
            metadata={"board": text["board"]},
        )

    def _in(self, connection: Connection, one: Mapping[str, Any]) -> bool:
        return connection.selection is None or one["board"] in connection.selected("repos")

    async def account(self, connection: Connection) -> Account | None:
        me = checked(await connection.http.get(f"{self._at}/me"))
        return Account(me["name"], me["id"])

    async def names(self, connection: Connection, kind: Kind, ids: Sequence[str]) -> Mapping[str, str]:
        return {id_: f"Board {id_}" for id_ in ids}

    async def browse(self, connection: Connection, parent: str | None, query: str, page: str | None) -> Page:
        asked = {"q": query, "page": page or "0"}
        found = checked(await connection.http.get(f"{self._at}/boards", params=asked))
        return Page(tuple(Entry(one, f"Board {one}", "repos") for one in found["boards"]), found["next"])

    async def receive(self, delivery: Delivery) -> Receipt:
        if delivery.subscription is None or not hmac.compare_digest(
            delivery.headers.get("x-shelf-signature", ""), signed(delivery.body, delivery.subscription.secret)
        ):
            raise ForgedError("The signature does not fit.")
        told = json.loads(delivery.body)
        return Receipt((Hint(full=told.get("lost", False)),), id=told["id"])

    async def subscribe(
        self, connection: Connection, address: str, secret: str, current: Subscription | None
    ) -> Subscription | None:
        made = checked(
            await connection.http.request(
                "POST", f"{self._at}/hooks", json={"address": address, "secret": secret}
            )
        )
        return Subscription(made["id"], secret)

    async def unsubscribe(self, connection: Connection, current: Subscription) -> None:
        await connection.http.request("DELETE", f"{self._at}/hooks/{current.id}")


def signed(body: bytes, secret: str) -> str:
    """How the shelf signs."""
    return hmac.new(secret.encode(), body, sha256).hexdigest()
