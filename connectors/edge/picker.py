"""/picker: a page on which a person chooses what a connector keeps in step. Its link opens it once."""

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from html import escape
from pathlib import Path
from secrets import token_urlsafe
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from connectors.connecting import Connecting
from connectors.edge.page import HEADERS, message
from connectors.errors import ConnectorError, NotFetchedError
from connectors.offers import PICKER, digest
from connectors.ports import Entry, Provider
from pipeline.connections import Connections
from schemas.events import ConnectorChanged, ConnectorChoice

COOKIE: Final = "recollect_picker"
STAY: Final = timedelta(minutes=30)
CHOICES: Final = 500
"""Of one kind, as the interface allows."""
_BODY: Final = 512 * 1024
_ASSETS: Final = Path(__file__).parent / "assets"
_NOUNS: Final = {
    "notion": "Notion",
    "google-drive": "Google Drive",
    "onedrive": "OneDrive",
    "gmail": "Gmail",
    "github": "GitHub",
}
_LATE: Final = "This link was used already or is too old. Ask for a new one."


class _Chosen(BaseModel):
    model_config = ConfigDict(extra="forbid")

    id: Annotated[str, Field(min_length=1, max_length=1024)]
    name: Annotated[str, Field(max_length=1024)]


class _Selection(BaseModel):
    model_config = ConfigDict(extra="forbid")

    selection: dict[str, Annotated[list[_Chosen], Field(max_length=CHOICES)]]


@dataclass(frozen=True, slots=True)
class _Session:
    """A person at the picker of one connector."""

    row: ConnectorChanged
    provider: Provider
    return_url: str | None


@dataclass(frozen=True, slots=True)
class Picker:
    """The routes' parts."""

    connections: Connections
    connecting: Connecting

    async def page(self, request: Request) -> Response:
        """The page; with a token it is opened: that works once, and leaves a cookie for half an hour."""
        if (token := request.query_params.get("token")) is not None:
            return await self._opened(request.path_params["connector"], token)
        session = await self._session(request)
        if session is None:
            return message("Nothing to choose here", _LATE, 403)
        account = session.row.account.name if session.row.account else ""
        page = (_ASSETS / "picker.html").read_text()
        shown = {
            "provider": _NOUNS.get(session.row.provider, session.row.provider),
            "account": account,
            "base": f"{PICKER}/{session.row.id}",
            "assets": f"{PICKER}/assets",
        }
        for name, value in shown.items():
            page = page.replace(f"[[{name}]]", escape(value))
        return HTMLResponse(page, headers=HEADERS)

    async def asset(self, request: Request) -> Response:
        """The page's style and script."""
        name = request.path_params["name"]
        kinds = {"picker.js": "text/javascript", "picker.css": "text/css"}
        if name not in kinds:
            return message("Not found", "There is no such file.", 404)
        return Response((_ASSETS / name).read_text(), media_type=kinds[name], headers=HEADERS)

    async def entries(self, request: Request) -> Response:
        """A page of what can be chosen: within `parent`, or what matches `q`."""
        session = await self._session(request)
        if session is None:
            return _refused()
        asked = request.query_params
        try:
            connection = await self.connecting.connection(session.row)
            page = await session.provider.browse(
                connection, asked.get("parent") or None, asked.get("q", "")[:200], asked.get("page") or None
            )
        except (ConnectorError, NotFetchedError) as error:
            return JSONResponse({"error": str(error)}, 502, HEADERS)
        return JSONResponse(
            {"entries": [_shown(entry) for entry in page.entries], "next": page.next}, headers=HEADERS
        )

    async def selection(self, request: Request) -> Response:
        """What is chosen now; PUT replaces it, starts a run and ends the visit."""
        session = await self._session(request)
        if session is None:
            return _refused()
        if request.method == "GET":
            kinds = {
                kind: [{"id": one.id, "name": one.name or one.id} for one in choices]
                for kind, choices in (session.row.selection or {}).items()
            }
            shown = {"selection": kinds, "limit": CHOICES, "kinds": list(session.provider.kinds)}
            return JSONResponse(shown, headers=HEADERS)
        return await self._chosen(request, session)

    async def _chosen(self, request: Request, session: _Session) -> Response:
        # A form of another site can send neither this type nor, with SameSite, the cookie.
        if request.headers.get("content-type", "").partition(";")[0] != "application/json":
            return JSONResponse({"error": "Send JSON."}, 415, HEADERS)
        body = await request.body()
        if len(body) > _BODY:
            return JSONResponse({"error": "Too much at once."}, 413, HEADERS)
        try:
            given = _Selection.model_validate_json(body).selection
        except ValidationError:
            return JSONResponse(
                {"error": f"At most {CHOICES} of a kind, each with id and name."}, 400, HEADERS
            )
        if strange := sorted(given.keys() - set(session.provider.kinds)):
            return JSONResponse({"error": f"There are no {', '.join(strange)} here."}, 400, HEADERS)
        chosen = {
            kind: tuple(ConnectorChoice(id=one.id, name=one.name) for one in some)
            for kind, some in given.items()
        }
        row = await self.connections.change(
            session.row.id,
            lambda before: before.model_copy(update={"selection": chosen, "revision": before.revision + 1}),
        )
        if row is None:
            return _refused()
        await self.connections.trigger(row, "manual")
        await self.connecting.secrets.put(row.id, "visit", None)
        return JSONResponse({"return": session.return_url}, headers=HEADERS)

    async def _opened(self, connector: str, token: str) -> Response:
        session = token_urlsafe(32)
        now = self.connections.now()
        opened: list[bool] = []

        def use(values: dict[str, Any]) -> dict[str, Any] | None:
            kept = values.get("picker")
            if kept is None or not _fits(kept, "token", token, now):
                return None
            opened.append(True)
            del values["picker"]
            stay = {"session": digest(session), "until": (now + STAY).isoformat()}
            return {**values, "visit": {**stay, "return_url": kept["return_url"]}}

        if self.connections.found(connector) is not None:
            await self.connecting.secrets.change(connector, use)
        if not opened:
            return message("Nothing to choose here", _LATE, 403)
        answer = RedirectResponse(f"{PICKER}/{connector}", 303, {"Referrer-Policy": "no-referrer"})
        answer.set_cookie(
            COOKIE,
            session,
            max_age=int(STAY.total_seconds()),
            path=f"{PICKER}/{connector}",
            secure=self.connecting.address.startswith("https://"),
            httponly=True,
            # Lax: the page is opened from a link on somebody else's; what changes anything is a PUT of JSON.
            samesite="lax",
        )
        return answer

    async def _session(self, request: Request) -> _Session | None:
        row = self.connections.found(request.path_params["connector"])
        if row is None or row.status != "active":
            return None
        kept = (await self.connecting.secrets.read(row.id)).get("visit")
        cookie = request.cookies.get(COOKIE, "")
        provider = self.connecting.providers.get(row.provider)
        if kept is None or provider is None or not _fits(kept, "session", cookie, self.connections.now()):
            return None
        return _Session(row, provider, kept["return_url"])


def _fits(kept: Mapping[str, Any], what: str, given: str, now: datetime) -> bool:
    if what not in kept or datetime.fromisoformat(kept["until"]) <= now:
        return False
    return hmac.compare_digest(str(kept[what]), digest(given))


def _shown(entry: Entry) -> dict[str, Any]:
    return {
        "id": entry.id,
        "name": entry.name,
        "kind": entry.kind,
        "detail": entry.detail,
        "opens": entry.opens,
    }


def _refused() -> Response:
    return JSONResponse({"error": "This visit has ended. Ask for a new link."}, 403, HEADERS)
