"""Double of a small source: texts with pages, changes, OAuth tokens and signed events, and its provider."""

# ruff: noqa: ARG002, S105 - a double implements whole interfaces, and its secret is none

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

from connectors.client.concurrent_map import map_concurrently
from connectors.client.json_answers import json_or_raise
from connectors.client.request_throttle import RateLimit
from connectors.errors import CursorExpiredError, WebhookVerificationError
from connectors.provider_interface import (
    ChangeHint,
    Connection,
    OAuthConfig,
    PickerEntry,
    PickerPage,
    Provider,
    SelectionKind,
    VerifiedDelivery,
    WebhookDelivery,
    WebhookSubscription,
)
from connectors.sync_messages import (
    Checkpoint,
    Cursor,
    FailedItem,
    RemovedItem,
    SourceItem,
    SyncMessage,
    SyncState,
)
from schemas.events import ConnectorAccount

ORIGIN = "https://shelf.test"
SECRET = "the-client-secret-of-the-shelf"
PAGE = 100


@dataclass
class SampleText:
    """Item of the source; `board` is what can be selected."""

    title: str
    text: str
    board: str
    version: int


@dataclass
class SampleSource:
    """The double: a world, an API over it, and faults on demand."""

    texts: dict[str, SampleText] = field(default_factory=dict)
    deleted: dict[str, int] = field(default_factory=dict)
    version: int = 0
    oldest_version: int = 0
    calls: list[str] = field(default_factory=list)
    queued_responses: list[Response] = field(default_factory=list)
    """Given instead of the true ones."""
    unreadable: set[str] = field(default_factory=set)
    tokens: dict[str, str] = field(default_factory=dict)
    """Access token by refresh token."""
    issued_tokens: int = 0
    hooks: dict[str, str] = field(default_factory=dict)

    def put(self, key: str, text: str, *, board: str = "a", title: str | None = None) -> None:
        self.version += 1
        self.deleted.pop(key, None)
        self.texts[key] = SampleText(title or key, text, board, self.version)

    def remove(self, key: str) -> None:
        self.version += 1
        del self.texts[key]
        self.deleted[key] = self.version

    def forget_history(self) -> None:
        """Cursors of before are good no more."""
        self.version += 1
        self.oldest_version = self.version

    def expire(self) -> None:
        """Access tokens are good no more; refresh tokens still are."""
        self.tokens = dict.fromkeys(self.tokens, "")

    def revoke_access(self) -> None:
        """Invalidate all tokens; only the user can authorize again."""
        self.tokens = {}

    def transport(self) -> httpx2.AsyncBaseTransport:
        return httpx2.ASGITransport(self.app())

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/token", self._token, methods=["POST"]),
                Route("/me", self._require_token(self._me)),
                Route("/boards", self._require_token(self._boards)),
                Route("/texts", self._require_token(self._full_sync)),
                Route("/texts/{key:path}", self._require_token(self._fetch_text)),
                Route("/changes", self._require_token(self._incremental_sync)),
                Route("/hooks", self._require_token(self._hook), methods=["POST"]),
                Route("/hooks/{key}", self._require_token(self._unhook), methods=["DELETE"]),
            ]
        )

    def _require_token(self, answer: Any) -> Any:
        async def guarded(request: Request) -> Response:
            self.calls.append(f"{request.method} {request.url.path}")
            if self.queued_responses:
                return self.queued_responses.pop(0)
            token = request.headers.get("authorization", "").removeprefix("Bearer ")
            if not token or token not in self.tokens.values():
                return JSONResponse({"error": "who are you"}, 401)
            response: Response = await answer(request)
            return response

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
        self.issued_tokens += 1
        access, refresh = f"planted-access-{self.issued_tokens}", f"planted-refresh-{self.issued_tokens}"
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

    async def _full_sync(self, request: Request) -> Response:
        start = int(request.query_params.get("page", "0"))
        newest = sorted(self.texts, key=lambda key: -self.texts[key].version)
        shown = newest[start * PAGE : (start + 1) * PAGE]
        more = start + 1 if len(newest) > (start + 1) * PAGE else None
        return JSONResponse({"texts": [self._shown(key) for key in shown], "next": more, "now": self.version})

    async def _fetch_text(self, request: Request) -> Response:
        key = request.path_params["key"]
        if key in self.unreadable:
            return JSONResponse({"error": "unreadable"}, 403)
        text = self.texts.get(key)
        if text is None:
            return JSONResponse({"error": "gone"}, 404)
        return JSONResponse({**self._shown(key), "text": text.text})

    async def _incremental_sync(self, request: Request) -> Response:
        since = int(request.query_params["since"])
        if since < self.oldest_version:
            return JSONResponse({"error": "too old"}, 410)
        changed = [key for key, text in self.texts.items() if text.version > since]
        deleted_keys = [key for key, version in self.deleted.items() if version > since]
        return JSONResponse(
            {"changed": [self._shown(key) for key in changed], "gone": deleted_keys, "now": self.version}
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


class SampleProvider(Provider):
    """The provider of the shelf; it goes by a name that the contract knows."""

    name = "github"
    selection_kinds = ("repos",)
    supports_webhooks = True
    rate_limit = RateLimit(requests_per_second=100_000, max_concurrent=16, burst=1000)

    def __init__(self, secret: str = SECRET, base_url: str = ORIGIN) -> None:
        self._base_url = base_url
        self.api_origins = frozenset({base_url})
        self.oauth = OAuthConfig(
            authorize_url=f"{base_url}/authorize",
            token_url=f"{base_url}/token",
            client_id="recollect",
            client_secret=secret,
            scopes=("read",),
        )

    async def sync(self, connection: Connection, cursor: Cursor | None, state: SyncState) -> AsyncIterator[SyncMessage]:
        if cursor is None or "page" in cursor:
            async for step in self._full_sync(connection, cursor or {"page": 0}, state):
                yield step
        else:
            async for step in self._incremental_sync(connection, cursor, state):
                yield step

    async def _full_sync(self, connection: Connection, cursor: Cursor, known: SyncState) -> AsyncIterator[SyncMessage]:
        page: Any = cursor["page"]
        now = cursor.get("now")
        while page is not None:
            listed = json_or_raise(await connection.http.get(f"{self._base_url}/texts", params={"page": page}))
            now = listed["now"] if now is None else now
            async for step in self._fetch_changed(connection, listed["texts"], known):
                yield step
            page = listed["next"]
            if page is not None:
                yield Checkpoint({"page": page, "now": now})
        yield Checkpoint({"since": now})

    async def _incremental_sync(
        self, connection: Connection, cursor: Cursor, known: SyncState
    ) -> AsyncIterator[SyncMessage]:
        for key in await known.retryable_failures():
            yield await self._fetch_text(connection, key)
        answer = await connection.http.get(f"{self._base_url}/changes", params={"since": cursor["since"]})
        if answer.status_code == 410:
            raise CursorExpiredError
        changed = json_or_raise(answer)
        for key in changed["gone"]:
            yield RemovedItem(key)
        for entry in changed["changed"]:
            if not self._is_selected(connection, entry):
                yield RemovedItem(entry["key"])
        async for step in self._fetch_changed(connection, changed["changed"], known):
            yield step
        yield Checkpoint({"since": changed["now"]})

    async def _fetch_changed(
        self, connection: Connection, listed: Sequence[Mapping[str, Any]], known: SyncState
    ) -> AsyncIterator[SyncMessage]:
        mine = [entry for entry in listed if self._is_selected(connection, entry)]
        changed_keys = await known.select_changed([(entry["key"], entry["version"]) for entry in mine])
        keys = [entry["key"] for entry in mine if entry["key"] in changed_keys]
        async for step in map_concurrently(keys, lambda key: self._fetch_text(connection, key), 16):
            yield step

    async def _fetch_text(self, connection: Connection, key: str) -> SyncMessage:
        answer = await connection.http.get(f"{self._base_url}/texts/{key}")
        if answer.status_code == 404:
            return RemovedItem(key)
        if answer.status_code == 403:
            return FailedItem(key, "This text can't be read. Ask its owner for access.", key, retryable=True)
        text = json_or_raise(answer)
        return SourceItem(
            id=key,
            version=text["version"],
            title=text["title"],
            text=text["text"],
            url=f"{self._base_url}/texts/{key}",
            metadata={"board": text["board"]},
        )

    def _is_selected(self, connection: Connection, entry: Mapping[str, Any]) -> bool:
        return connection.selection is None or entry["board"] in connection.selected_ids("repos")

    async def fetch_account(self, connection: Connection) -> ConnectorAccount | None:
        me = json_or_raise(await connection.http.get(f"{self._base_url}/me"))
        return ConnectorAccount(name=me["name"], webhook_id=me["id"])

    async def resolve_names(self, connection: Connection, kind: SelectionKind, ids: Sequence[str]) -> Mapping[str, str]:
        return {id_: f"Board {id_}" for id_ in ids}

    async def browse(
        self, connection: Connection, parent: str | None, query: str, page_token: str | None
    ) -> PickerPage:
        asked = {"q": query, "page": page_token or "0"}
        found = json_or_raise(await connection.http.get(f"{self._base_url}/boards", params=asked))
        return PickerPage(
            tuple(PickerEntry(board, f"Board {board}", "repos") for board in found["boards"]), found["next"]
        )

    async def read_delivery(self, delivery: WebhookDelivery) -> VerifiedDelivery:
        if delivery.subscription is None or not hmac.compare_digest(
            delivery.headers.get("x-shelf-signature", ""), sign(delivery.body, delivery.subscription.secret)
        ):
            raise WebhookVerificationError("The signature does not fit.")
        notification = json.loads(delivery.body)
        return VerifiedDelivery(
            (ChangeHint(requires_full_sync=notification.get("lost", False)),), delivery_id=notification["id"]
        )

    async def subscribe(
        self, connection: Connection, callback_url: str, secret: str, current: WebhookSubscription | None
    ) -> WebhookSubscription | None:
        created = json_or_raise(
            await connection.http.request(
                "POST", f"{self._base_url}/hooks", json={"address": callback_url, "secret": secret}
            )
        )
        return WebhookSubscription(created["id"], secret)

    async def unsubscribe(self, connection: Connection, current: WebhookSubscription) -> None:
        await connection.http.request("DELETE", f"{self._base_url}/hooks/{current.id}")


def sign(body: bytes, secret: str) -> str:
    """Sign an event as the source does."""
    return hmac.new(secret.encode(), body, sha256).hexdigest()
