"""Notion as far as recollect asks it (API 2026-03-11), judged by the types of its own client."""

import json
import sys
from base64 import b64decode
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256
from hmac import new as hmac
from itertools import count
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode
from uuid import UUID

from starlette.requests import Request

from tests.support.providers.api_description import ApiDescription, DescriptionViolationError, Operation
from tests.support.providers.provider_double import (
    DoubleResponse,
    ProviderDouble,
    ReceivedRequest,
    serve_double,
)

API = "https://api.notion.com"
FILES = "https://files.notion.test"
VERSION = "2026-03-11"
ADA = "00000000-0000-4000-8000-0000000000a1"
BOT = "00000000-0000-4000-8000-0000000000b1"
WORKSPACE = "00000000-0000-4000-8000-0000000000f1"


def minute_timestamp(at: datetime) -> str:
    """A time to the minute, as Notion formats it."""
    return at.strftime("%Y-%m-%dT%H:%M:00.000Z")


def rich_text(text: str) -> list[dict[str, Any]]:
    """A plain rich text."""
    plain = dict.fromkeys(("bold", "italic", "strikethrough", "underline", "code"), False)
    return [
        {
            "type": "text",
            "text": {"content": text, "link": None},
            "annotations": {**plain, "color": "default"},
            "plain_text": text,
            "href": None,
        }
    ]


@dataclass
class NodeDouble:
    """A page, a data source or a block that is a parent. `place` is the parent's id; "": the workspace."""

    id: str
    kind: str
    title: str
    place: str
    created_at: datetime
    edited_at: datetime
    markdown: str = ""
    properties: dict[str, Any] = field(default_factory=dict)
    trashed: bool = False
    missed: bool = False
    """The search index does not have it."""
    related: list[str] = field(default_factory=list)
    """Pages that its relation leads to; it lists the first 25."""
    block: dict[str, Any] | None = None
    """Content of a block: its type and that type's value."""
    parts: dict[str, str] = field(default_factory=dict)
    """Blocks that a page is too long for: their id and Markdown."""


class NotionDouble(ProviderDouble):
    """`api.notion.com` for one workspace, its token endpoint, and the host of its files."""

    def __init__(self, address: str = API, files: str = FILES) -> None:
        super().__init__(ApiDescription("notion", headers=frozenset({"notion-version"}), errors="error"))
        self.address = address
        self.files = files
        self.numbers = count(1)
        self.nodes: dict[str, NodeDouble] = {}
        self.tokens = {"ntn_good"}
        self.refresh_tokens: set[str] = set()
        self.codes: set[str] = set()
        self.uploads: dict[str, bytes] = {}
        self.lost_uploads: set[str] = set()
        self.secret = ("client", "hush")
        self.comments: dict[str, list[str]] | None = None
        """Comments by page; None: the connection may not read any."""

    # -- the world

    def page(self, title: str, markdown: str = "", place: str = "", **properties: Any) -> NodeDouble:
        """A new page; `place` is a page, a data source or a block."""
        return self._add("page", title, markdown, place, properties)

    def data_source(self, title: str, place: str = "") -> NodeDouble:
        """A new database with one data source."""
        return self._add("data_source", title, "", place, {})

    def block(self, place: str, kind: str = "toggle", **value: Any) -> NodeDouble:
        """A block that holds pages, such as a toggle, or that Markdown only names, such as a bookmark."""
        made = self._add("block", "", "", place, {})
        made.block = {"type": kind, kind: value} if value else None
        return made

    def _add(self, kind: str, title: str, markdown: str, place: str, properties: dict[str, Any]) -> NodeDouble:
        at = self.advance_clock()
        node = NodeDouble(self._id(), kind, title, place, at, at, markdown, properties)
        self.nodes[node.id] = node
        return node

    def _id(self) -> str:
        return str(UUID(int=next(self.numbers) << 80))

    def edit(self, node: NodeDouble, *, passed: timedelta = timedelta(minutes=10), **changes: Any) -> None:
        """Change a node; `passed`: since whatever happened before."""
        for name, value in changes.items():
            setattr(node, name, value)
        node.edited_at = self.advance_clock(passed)

    def trash(self, node: NodeDouble) -> None:
        """A page goes to the trash with everything in it."""
        node.edited_at = self.advance_clock()
        node.trashed = True
        for inner in self.nodes.values():
            if inner.place == node.id:
                self.trash(inner)

    def upload(self, name: str, data: bytes) -> str:
        """A file of the workspace: its address of the moment, signed and soon to expire."""
        self.uploads[name] = data
        return self.signed(name)

    def signed(self, name: str) -> str:
        """Another address of the same file."""
        signature = urlencode({"X-Amz-Expires": 3600, "X-Amz-Signature": next(self.numbers)})
        return f"{self.files}/files/{quote(name)}?{signature}"

    # -- requests

    def described_operation(self, method: str, path: str) -> Operation | None:
        """Files and the page that asks for consent stand outside of the API."""
        if path.startswith("/files/") or path == "/v1/oauth/authorize":
            return None
        return self.description.operation(method, path)

    def answer_undescribed(self, request: Request, body: bytes) -> DoubleResponse:
        path = request.url.path
        if path.startswith("/files/"):
            if "authorization" in request.headers and f"//{request.url.netloc}" not in self.address:
                raise DescriptionViolationError("the token was sent to another host")
            if path.removeprefix("/files/") in self.lost_uploads:
                return DoubleResponse(500, b"", media_type="text/plain")
            return DoubleResponse(
                200, self.uploads[path.removeprefix("/files/")], media_type="application/octet-stream"
            )
        asked = dict(parse_qsl(request.url.query))
        if asked.get("owner") != "user":
            raise DescriptionViolationError("the owner is not asked for")
        code = f"code-{next(self.numbers)}"
        self.codes.add(code)
        back = urlencode({"code": code, "state": asked["state"]})
        return DoubleResponse(302, None, {"location": f"{asked['redirect_uri']}?{back}"})

    def handle(self, call: ReceivedRequest) -> DoubleResponse:
        if call.operation.id == "oauthToken":
            return self._token(call)
        if call.headers.get("notion-version") != VERSION:
            raise DescriptionViolationError("the version of the API is not asked for")
        if call.headers.get("authorization", "").removeprefix("Bearer ") not in self.tokens:
            return self.error(401, "unauthorized", "API token is invalid.")
        answers: dict[str, Callable[[ReceivedRequest], DoubleResponse]] = {
            "search": self._search,
            "queryDataSource": self._query,
            "getPage": lambda c: self._object_response(c.path_parameters["page_id"], "page"),
            "getDataSource": lambda c: self._object_response(c.path_parameters["data_source_id"], "data_source"),
            "getBlock": lambda c: self._object_response(c.path_parameters["block_id"], "block"),
            "getDatabase": lambda c: self._database(c.path_parameters["database_id"]),
            "getPageMarkdown": self._markdown,
            "getSelf": lambda _: self._ok(self._bot()),
            "getPageProperty": self._property,
            "listComments": self._list_comments,
            "getUser": lambda c: self._user(c.path_parameters["user_id"]),
        }
        return answers[call.operation.id](call)

    def _token(self, call: ReceivedRequest) -> DoubleResponse:
        given = call.headers.get("authorization", "").removeprefix("Basic ")
        if b64decode(given).decode() != ":".join(self.secret):
            return DoubleResponse(401, {"error": "invalid_client"})
        body = call.body
        if body["grant_type"] == "refresh_token":
            valid, token = self.refresh_tokens, body["refresh_token"]
        else:
            valid, token = self.codes, body["code"]
        if token not in valid:
            return DoubleResponse(400, {"error": "invalid_grant"})
        valid.remove(token)
        access, refresh = f"ntn_{next(self.numbers)}", f"nrt_{next(self.numbers)}"
        self.tokens.add(access)
        self.refresh_tokens.add(refresh)
        owner = {"type": "workspace", "workspace": True}
        return self._ok(
            self.description.filled_example(
                "OauthTokenResponse", access_token=access, refresh_token=refresh, bot_id=BOT,
                workspace_id=WORKSPACE, workspace_name="Octo", owner=owner,
            )
        )  # fmt: skip

    def _search(self, call: ReceivedRequest) -> DoubleResponse:
        filter_, query = call.body.get("filter", {}), call.body.get("query", "").lower()
        found = [
            node
            for node in self.nodes.values()
            if node.kind != "block"
            and node.kind in (filter_.get("value"), filter_.get("value") or node.kind)
            and node.trashed == filter_.get("in_trash", False)
            and not node.missed
            and query in node.title.lower()
        ]
        late = call.body.get("sort", {}).get("direction", "descending") == "descending"
        found.sort(key=lambda node: minute_timestamp(node.edited_at), reverse=late)
        return self._result_page(call, found, "page_or_data_source")

    def _query(self, call: ReceivedRequest) -> DoubleResponse:
        rows = [
            node
            for node in self.nodes.values()
            if node.place == call.path_parameters["data_source_id"] and not node.trashed and node.kind == "page"
        ]
        return self._result_page(call, rows, "page_or_data_source")

    def _result_page(self, call: ReceivedRequest, nodes: list[NodeDouble], kind: str) -> DoubleResponse:
        begin, size = int(call.body.get("start_cursor") or 0), call.body.get("page_size", 100)
        more = begin + size < len(nodes)
        return self._ok(
            {
                "object": "list",
                "type": kind,
                kind: {},
                "results": [self._described(node) for node in nodes[begin : begin + size]],
                "has_more": more,
                "next_cursor": str(begin + size) if more else None,
                "request_status": {"type": "complete"},
            }
        )

    def _object_response(self, id_: str, kind: str) -> DoubleResponse:
        node = self.nodes.get(id_)
        if node is None or node.kind != kind:
            return self.error(404, "object_not_found", f"Could not find {kind} with ID: {id_}.")
        return self._ok(self._described(node))

    def _database(self, id_: str) -> DoubleResponse:
        sources = [node for node in self.nodes.values() if node.kind == "data_source" and self.database_id(node) == id_]
        if not sources:
            return self.error(404, "object_not_found", f"Could not find database with ID: {id_}.")
        source = sources[0]
        return self._ok(
            self.description.filled_example(
                "DatabaseObjectResponse", id=id_, title=rich_text(source.title), parent=self._parent(source),
                data_sources=[{"id": source.id, "name": source.title}],
            )
        )  # fmt: skip

    def _markdown(self, call: ReceivedRequest) -> DoubleResponse:
        id_ = call.path_parameters["page_id"]
        page = self.nodes.get(id_)
        part = (
            next((node.parts[id_] for node in self.nodes.values() if id_ in node.parts), None) if page is None else None
        )
        if part is not None:
            return self._page_markdown(id_, part, [])
        if page is None or page.kind != "page":
            return self.error(404, "object_not_found", f"Could not find page with ID: {id_}.")
        return self._page_markdown(id_, page.markdown, list(page.parts))

    def _page_markdown(self, id_: str, markdown: str, unknown: list[str]) -> DoubleResponse:
        body = {"object": "page_markdown", "id": id_, "markdown": markdown}
        return self._ok({**body, "truncated": bool(unknown), "unknown_block_ids": unknown})

    def _property(self, call: ReceivedRequest) -> DoubleResponse:
        """All values of a relation, in pages."""
        node = self.nodes[call.path_parameters["page_id"]]
        value = next(v for v in node.properties.values() if v["id"] == call.path_parameters["property_id"])
        begin, size = int(call.query.get("start_cursor", 0)), int(call.query.get("page_size", 100))
        related = node.related[begin : begin + size]
        more = begin + size < len(node.related)
        item = {"object": "property_item", "type": "relation", "id": value["id"]}
        return self._ok(
            {
                "object": "list",
                "type": "property_item",
                "property_item": {"type": "relation", "relation": {}, "id": value["id"], "next_url": None},
                "results": [{**item, "relation": {"id": id_}} for id_ in related],
                "has_more": more,
                "next_cursor": str(begin + size) if more else None,
            }
        )

    def _list_comments(self, call: ReceivedRequest) -> DoubleResponse:
        if self.comments is None:
            return self.error(403, "restricted_resource", "Insufficient permissions for this endpoint.")
        page = call.query["block_id"]
        results = [
            {
                "object": "comment",
                "id": self._id(),
                "parent": {"type": "page_id", "page_id": page},
                "discussion_id": self._id(),
                "created_time": minute_timestamp(self.now),
                "last_edited_time": minute_timestamp(self.now),
                "created_by": {"object": "user", "id": ADA},
                "rich_text": rich_text(text),
                "display_name": {"type": "user", "resolved_name": None},
            }
            for text in self.comments.get(page, [])
        ]
        listed = {"object": "list", "type": "comment", "comment": {}, "has_more": False, "next_cursor": None}
        return self._ok({**listed, "results": results})

    def _user(self, id_: str) -> DoubleResponse:
        if id_ != ADA:
            return self.error(404, "object_not_found", "Could not find user.")
        person: dict[str, Any] = {
            "object": "user",
            "id": ADA,
            "type": "person",
            "person": {},
            "name": "Ada",
            "avatar_url": None,
        }
        return self._ok(person)

    def _bot(self) -> dict[str, Any]:
        bot = {
            "owner": {"type": "workspace", "workspace": True},
            "workspace_id": WORKSPACE,
            "workspace_name": "Octo",
            "workspace_limits": {"max_file_upload_size_in_bytes": 5_000_000},
        }
        return {
            "object": "user",
            "id": BOT,
            "type": "bot",
            "bot": bot,
            "name": "recollect",
            "avatar_url": None,
        }

    # -- what answers are made of

    def _described(self, node: NodeDouble) -> dict[str, Any]:
        user = {"object": "user", "id": ADA}
        common = {
            "id": node.id,
            "created_time": minute_timestamp(node.created_at),
            "last_edited_time": minute_timestamp(node.edited_at),
            "created_by": user,
            "last_edited_by": user,
            "in_trash": node.trashed,
            "archived": node.trashed,
        }
        if node.kind == "block":
            toggle = {"rich_text": [], "color": "default"}
            parent = self._parent(node)
            return {
                "object": "block",
                **(node.block or {"type": "toggle", "toggle": toggle}),
                "has_children": True,
                "parent": parent,
                **common,
            }
        url = f"https://www.notion.so/{node.id.replace('-', '')}"
        if node.kind == "data_source":
            parent = {"type": "database_id", "database_id": self.database_id(node)}
            fields = {"title": rich_text(node.title), "database_parent": self._parent(node), "properties": {}}
            return self.description.filled_example(
                "DataSourceObjectResponse", url=url, parent=parent, **common, **fields
            )
        title = {"id": "title", "type": "title", "title": rich_text(node.title)}
        properties = {"Name": title, **node.properties}
        return self.description.filled_example(
            "PageObjectResponse", url=url, parent=self._parent(node), properties=properties, **common
        )

    def database_id(self, node: NodeDouble) -> str:
        """Id of the database of a data source."""
        return node.id[:-1] + "d"

    def _parent(self, node: NodeDouble) -> dict[str, Any]:
        above = self.nodes.get(node.place)
        if above is None:
            return {"type": "workspace", "workspace": True}
        if above.kind == "data_source":
            return {
                "type": "data_source_id",
                "data_source_id": above.id,
                "database_id": self.database_id(above),
            }
        return {"type": f"{above.kind}_id", f"{above.kind}_id": above.id}

    def _ok(self, body: dict[str, Any]) -> DoubleResponse:
        return DoubleResponse(200, body, {"date": self.now.strftime("%a, %d %b %Y %H:%M:%S GMT")})

    def error(self, status: int, code: str, message: str, *, retry_after: int | None = None) -> DoubleResponse:
        """A failure as Notion words it."""
        headers = {} if retry_after is None else {"retry-after": str(retry_after)}
        return DoubleResponse(status, {"object": "error", "status": status, "code": code, "message": message}, headers)

    # -- webhooks

    def delivery(self, kind: str, node: NodeDouble, secret: str) -> tuple[dict[str, str], bytes]:
        """Headers and body of an event, signed as Notion does."""
        reference = self.description.document["webhooks"][kind]["$ref"].rsplit("/", 1)[1]
        body = self.description.filled_example(
            reference, id=str(UUID(int=next(self.numbers))), timestamp=self.now.isoformat(),
            workspace_id=WORKSPACE, entity={"id": node.id}, attempt_number=1,
        )  # fmt: skip
        self.description.webhook(kind, body)
        raw = json.dumps(body).encode()
        signature = "sha256=" + hmac(secret.encode(), raw, sha256).hexdigest()
        return {"content-type": "application/json", "x-notion-signature": signature}, raw


def demo(notion: NotionDouble) -> NotionDouble:
    """A small world for the demonstration."""
    wiki = notion.page("Wiki", "How **Octo** works.")
    notion.page("Holidays", "Everybody has 30 days of leave.", wiki.id)
    tasks = notion.data_source("Tasks", wiki.id)
    notion.page("Order a coffee machine", "For the third floor.", tasks.id)
    return notion


if __name__ == "__main__":
    double = NotionDouble()

    def ready(address: str) -> None:
        double.address = double.files = address
        print(address)  # noqa: T201 - whoever starts it reads its address

    serve_double(demo(double), sys.argv[1:], ready)
