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

from tests.connectors.doubles.double import Answer, Call, Double, run
from tests.connectors.doubles.judge import Judge, Operation, ViolationError

API = "https://api.notion.com"
FILES = "https://files.notion.test"
VERSION = "2026-03-11"
ADA = "00000000-0000-4000-8000-0000000000a1"
BOT = "00000000-0000-4000-8000-0000000000b1"
WORKSPACE = "00000000-0000-4000-8000-0000000000f1"


def minute(at: datetime) -> str:
    """As Notion gives times: to the minute."""
    return at.strftime("%Y-%m-%dT%H:%M:00.000Z")


def rich(text: str) -> list[dict[str, Any]]:
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
class Node:
    """A page, a data source or a block that is a parent. `place` is the parent's id; "": the workspace."""

    id: str
    kind: str
    title: str
    place: str
    at: datetime
    changed: datetime
    markdown: str = ""
    properties: dict[str, Any] = field(default_factory=dict)
    trashed: bool = False
    missed: bool = False
    """The search index does not have it."""
    parts: dict[str, str] = field(default_factory=dict)
    """Blocks that a page is too long for: their id and Markdown."""


class NotionDouble(Double):
    """`api.notion.com` for one workspace, its token endpoint, and the host of its files."""

    def __init__(self, address: str = API, files: str = FILES) -> None:
        super().__init__(Judge("notion", headers=frozenset({"notion-version"}), errors="error"))
        self.address = address
        self.files = files
        self.numbers = count(1)
        self.nodes: dict[str, Node] = {}
        self.tokens = {"ntn_good"}
        self.refresh_tokens: set[str] = set()
        self.codes: set[str] = set()
        self.uploads: dict[str, bytes] = {}
        self.secret = ("client", "hush")

    # -- the world

    def page(self, title: str, markdown: str = "", place: str = "", **properties: Any) -> Node:
        """A new page; `place` is a page, a data source or a block."""
        return self._add("page", title, markdown, place, properties)

    def data_source(self, title: str, place: str = "") -> Node:
        """A new database with one data source."""
        return self._add("data_source", title, "", place, {})

    def block(self, place: str) -> Node:
        """A block that holds pages, such as a toggle."""
        return self._add("block", "", "", place, {})

    def _add(self, kind: str, title: str, markdown: str, place: str, properties: dict[str, Any]) -> Node:
        at = self.tick()
        made = Node(self._id(), kind, title, place, at, at, markdown, properties)
        self.nodes[made.id] = made
        return made

    def _id(self) -> str:
        return str(UUID(int=next(self.numbers) << 80))

    def edit(self, node: Node, *, passed: timedelta = timedelta(minutes=10), **changes: Any) -> None:
        """Change a node; `passed`: since whatever happened before."""
        for name, value in changes.items():
            setattr(node, name, value)
        node.changed = self.tick(passed)

    def trash(self, node: Node) -> None:
        """A page goes to the trash with everything in it."""
        node.changed = self.tick()
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

    def locate(self, method: str, path: str) -> Operation | None:
        """Files and the page that asks for consent stand outside of the API."""
        if path.startswith("/files/") or path == "/v1/oauth/authorize":
            return None
        return self.judge.operation(method, path)

    def outside(self, request: Request, body: bytes) -> Answer:
        path = request.url.path
        if path.startswith("/files/"):
            if "authorization" in request.headers and f"//{request.url.netloc}" not in self.address:
                raise ViolationError("the token was sent to another host")
            return Answer(200, self.uploads[path.removeprefix("/files/")], media="application/octet-stream")
        asked = dict(parse_qsl(request.url.query))
        if asked.get("owner") != "user":
            raise ViolationError("the owner is not asked for")
        code = f"code-{next(self.numbers)}"
        self.codes.add(code)
        back = urlencode({"code": code, "state": asked["state"]})
        return Answer(302, None, {"location": f"{asked['redirect_uri']}?{back}"})

    def handle(self, call: Call) -> Answer:
        if call.operation.id == "oauthToken":
            return self._token(call)
        if call.headers.get("notion-version") != VERSION:
            raise ViolationError("the version of the API is not asked for")
        if call.headers.get("authorization", "").removeprefix("Bearer ") not in self.tokens:
            return self.error(401, "unauthorized", "API token is invalid.")
        answers: dict[str, Callable[[Call], Answer]] = {
            "search": self._search,
            "queryDataSource": self._query,
            "getPage": lambda c: self._one(c.at["page_id"], "page"),
            "getDataSource": lambda c: self._one(c.at["data_source_id"], "data_source"),
            "getBlock": lambda c: self._one(c.at["block_id"], "block"),
            "getDatabase": lambda c: self._one(c.at["database_id"], "database"),
            "getPageMarkdown": self._markdown,
            "getSelf": lambda _: self._ok(self._bot()),
            "getUser": lambda c: self._user(c.at["user_id"]),
        }
        return answers[call.operation.id](call)

    def _token(self, call: Call) -> Answer:
        given = call.headers.get("authorization", "").removeprefix("Basic ")
        if b64decode(given).decode() != ":".join(self.secret):
            return Answer(401, {"error": "invalid_client"})
        body = call.body
        if body["grant_type"] == "refresh_token":
            known, token = self.refresh_tokens, body["refresh_token"]
        else:
            known, token = self.codes, body["code"]
        if token not in known:
            return Answer(400, {"error": "invalid_grant"})
        known.remove(token)
        access, refresh = f"ntn_{next(self.numbers)}", f"nrt_{next(self.numbers)}"
        self.tokens.add(access)
        self.refresh_tokens.add(refresh)
        owner = {"type": "workspace", "workspace": True}
        return self._ok(
            self.judge.whole(
                "OauthTokenResponse", access_token=access, refresh_token=refresh, bot_id=BOT,
                workspace_id=WORKSPACE, workspace_name="Octo", owner=owner,
            )
        )  # fmt: skip

    def _search(self, call: Call) -> Answer:
        wanted, query = call.body.get("filter", {}), call.body.get("query", "").lower()
        found = [
            node
            for node in self.nodes.values()
            if node.kind != "block"
            and node.kind in (wanted.get("value"), wanted.get("value") or node.kind)
            and node.trashed == wanted.get("in_trash", False)
            and not node.missed
            and query in node.title.lower()
        ]
        late = call.body.get("sort", {}).get("direction", "descending") == "descending"
        found.sort(key=lambda node: minute(node.changed), reverse=late)
        return self._listed(call, found, "page_or_data_source")

    def _query(self, call: Call) -> Answer:
        rows = [
            node
            for node in self.nodes.values()
            if node.place == call.at["data_source_id"] and not node.trashed and node.kind == "page"
        ]
        return self._listed(call, rows, "page_or_data_source")

    def _listed(self, call: Call, nodes: list[Node], kind: str) -> Answer:
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

    def _one(self, id_: str, kind: str) -> Answer:
        node = self.nodes.get(id_)
        if node is None or node.kind != kind:
            return self.error(404, "object_not_found", f"Could not find {kind} with ID: {id_}.")
        return self._ok(self._described(node))

    def _markdown(self, call: Call) -> Answer:
        id_ = call.at["page_id"]
        page = self.nodes.get(id_)
        part = (
            next((node.parts[id_] for node in self.nodes.values() if id_ in node.parts), None)
            if page is None
            else None
        )
        if part is not None:
            return self._page_markdown(id_, part, [])
        if page is None or page.kind != "page":
            return self.error(404, "object_not_found", f"Could not find page with ID: {id_}.")
        return self._page_markdown(id_, page.markdown, list(page.parts))

    def _page_markdown(self, id_: str, markdown: str, unknown: list[str]) -> Answer:
        body = {"object": "page_markdown", "id": id_, "markdown": markdown}
        return self._ok({**body, "truncated": bool(unknown), "unknown_block_ids": unknown})

    def _user(self, id_: str) -> Answer:
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

    def _described(self, node: Node) -> dict[str, Any]:
        user = {"object": "user", "id": ADA}
        common = {
            "id": node.id,
            "created_time": minute(node.at),
            "last_edited_time": minute(node.changed),
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
                "type": "toggle",
                "toggle": toggle,
                "has_children": True,
                "parent": parent,
                **common,
            }
        url = f"https://www.notion.so/{node.id.replace('-', '')}"
        if node.kind == "data_source":
            parent = {"type": "database_id", "database_id": self._database(node)}
            known = {"title": rich(node.title), "database_parent": self._parent(node), "properties": {}}
            return self.judge.whole("DataSourceObjectResponse", url=url, parent=parent, **common, **known)
        title = {"id": "title", "type": "title", "title": rich(node.title)}
        properties = {"Name": title, **node.properties}
        return self.judge.whole(
            "PageObjectResponse", url=url, parent=self._parent(node), properties=properties, **common
        )

    def _database(self, node: Node) -> str:
        return node.id[:-1] + "d"

    def _parent(self, node: Node) -> dict[str, Any]:
        above = self.nodes.get(node.place)
        if above is None:
            return {"type": "workspace", "workspace": True}
        if above.kind == "data_source":
            return {
                "type": "data_source_id",
                "data_source_id": above.id,
                "database_id": self._database(above),
            }
        return {"type": f"{above.kind}_id", f"{above.kind}_id": above.id}

    def _ok(self, body: dict[str, Any]) -> Answer:
        return Answer(200, body, {"date": self.now.strftime("%a, %d %b %Y %H:%M:%S GMT")})

    def error(self, status: int, code: str, message: str, *, retry_after: int | None = None) -> Answer:
        """A failure as Notion words it."""
        headers = {} if retry_after is None else {"retry-after": str(retry_after)}
        return Answer(
            status, {"object": "error", "status": status, "code": code, "message": message}, headers
        )

    # -- webhooks

    def delivery(self, kind: str, node: Node, secret: str) -> tuple[dict[str, str], bytes]:
        """Headers and body of an event, signed as Notion does."""
        reference = self.judge.document["webhooks"][kind]["$ref"].rsplit("/", 1)[1]
        body = self.judge.whole(
            reference, id=str(UUID(int=next(self.numbers))), timestamp=self.now.isoformat(),
            workspace_id=WORKSPACE, entity={"id": node.id}, attempt_number=1,
        )  # fmt: skip
        self.judge.webhook(kind, body)
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

    run(demo(double), sys.argv[1:], ready)
