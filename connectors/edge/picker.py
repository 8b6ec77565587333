"""Page /picker, on which a user selects the resources of a connector; its link opens it once."""

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

from connectors.accounts.account_linking import PICKER_PATH, token_digest
from connectors.accounts.connection_factory import ConnectionFactory
from connectors.edge.html_page import SECURITY_HEADERS, message_page
from connectors.errors import ConnectorError, ResourceFetchError
from connectors.provider_interface import PickerEntry, Provider
from pipeline.connector_registry import ConnectorRegistry
from schemas.events import ConnectorChanged, SelectedItem

SESSION_COOKIE: Final = "recollect_picker"
SESSION_LIFETIME: Final = timedelta(minutes=30)
MAX_SELECTED_PER_KIND: Final = 500
"""Limit per kind, the same as in the API."""
_MAX_BODY_BYTES: Final = 512 * 1024
_ASSETS: Final = Path(__file__).parent / "assets"
_PROVIDER_NAMES: Final = {
    "notion": "Notion",
    "google-drive": "Google Drive",
    "onedrive": "OneDrive",
    "gmail": "Gmail",
    "github": "GitHub",
}
LINK_EXPIRED_MESSAGE: Final = "This link was used already or is too old. Ask for a new one."


class _SelectedResource(BaseModel):
    model_config = ConfigDict(extra="forbid")

    id: Annotated[str, Field(min_length=1, max_length=1024)]
    name: Annotated[str, Field(max_length=1024)]


class _SelectionRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    selection: dict[str, Annotated[list[_SelectedResource], Field(max_length=MAX_SELECTED_PER_KIND)]]


@dataclass(frozen=True, slots=True)
class _PickerSession:
    row: ConnectorChanged
    provider: Provider
    return_url: str | None


@dataclass(frozen=True, slots=True)
class Picker:
    registry: ConnectorRegistry
    connection_factory: ConnectionFactory

    async def page(self, request: Request) -> Response:
        """Serve the page; a token in the URL is consumed and replaced by a session cookie of half an hour."""
        if (token := request.query_params.get("token")) is not None:
            return await self._open_session(request.path_params["connector"], token)
        session = await self._session(request)
        if session is None:
            return message_page("Nothing to choose here", LINK_EXPIRED_MESSAGE, 403)
        account = session.row.account.name if session.row.account else ""
        page = (_ASSETS / "picker.html").read_text()
        shown = {
            "provider": _PROVIDER_NAMES.get(session.row.provider, session.row.provider),
            "account": account,
            "base": f"{PICKER_PATH}/{session.row.id}",
            "assets": f"{PICKER_PATH}/assets",
        }
        for name, value in shown.items():
            page = page.replace(f"[[{name}]]", escape(value))
        return HTMLResponse(page, headers=SECURITY_HEADERS)

    async def asset(self, request: Request) -> Response:
        """Serve the page's stylesheet and script."""
        name = request.path_params["name"]
        kinds = {"picker.js": "text/javascript", "picker.css": "text/css"}
        if name not in kinds:
            return message_page("Not found", "There is no such file.", 404)
        return Response((_ASSETS / name).read_text(), media_type=kinds[name], headers=SECURITY_HEADERS)

    async def entries(self, request: Request) -> Response:
        """List selectable entries within `parent` or matching `q`, one page at a time."""
        session = await self._session(request)
        if session is None:
            return _session_expired()
        asked = request.query_params
        try:
            connection = await self.connection_factory.connect(session.row)
            page = await session.provider.browse(
                connection, asked.get("parent") or None, asked.get("q", "")[:200], asked.get("page") or None
            )
        except (ConnectorError, ResourceFetchError) as error:
            return JSONResponse({"error": str(error)}, 502, SECURITY_HEADERS)
        return JSONResponse(
            {"entries": [_entry_json(entry) for entry in page.entries], "next": page.next_page_token},
            headers=SECURITY_HEADERS,
        )

    async def selection(self, request: Request) -> Response:
        """Return the selection; PUT replaces it, requests a run and ends the session."""
        session = await self._session(request)
        if session is None:
            return _session_expired()
        if request.method == "GET":
            kinds = {
                kind: [{"id": choice.id, "name": choice.name or choice.id} for choice in choices]
                for kind, choices in (session.row.selection or {}).items()
            }
            shown = {
                "selection": kinds,
                "limit": MAX_SELECTED_PER_KIND,
                "kinds": list(session.provider.selection_kinds),
            }
            return JSONResponse(shown, headers=SECURITY_HEADERS)
        return await self._save_selection(request, session)

    async def _save_selection(self, request: Request, session: _PickerSession) -> Response:
        # A form on another site can send neither this content type nor, due to SameSite, the cookie.
        if request.headers.get("content-type", "").partition(";")[0] != "application/json":
            return JSONResponse({"error": "Send JSON."}, 415, SECURITY_HEADERS)
        body = await request.body()
        if len(body) > _MAX_BODY_BYTES:
            return JSONResponse({"error": "Too much at once."}, 413, SECURITY_HEADERS)
        try:
            given = _SelectionRequest.model_validate_json(body).selection
        except ValidationError:
            return JSONResponse(
                {"error": f"At most {MAX_SELECTED_PER_KIND} of a kind, each with id and name."}, 400, SECURITY_HEADERS
            )
        if strange := sorted(given.keys() - set(session.provider.selection_kinds)):
            return JSONResponse({"error": f"There are no {', '.join(strange)} here."}, 400, SECURITY_HEADERS)
        chosen = {
            kind: tuple(SelectedItem(id=choice.id, name=choice.name) for choice in choices)
            for kind, choices in given.items()
        }
        row = await self.registry.modify(
            session.row.id,
            lambda before: before.model_copy(
                update={"selection": chosen, "selection_revision": before.selection_revision + 1}
            ),
        )
        if row is None:
            return _session_expired()
        await self.registry.request_sync(row, "manual")
        await self.connection_factory.secret_store.set_value(row.id, "visit", None)
        return JSONResponse({"return": session.return_url}, headers=SECURITY_HEADERS)

    async def _open_session(self, connector: str, token: str) -> Response:
        session = token_urlsafe(32)
        now = self.registry.now()
        secrets, kept = self.connection_factory.secret_store, None
        if self.registry.find_active(connector) is not None:
            kept = await secrets.take(connector, "picker", lambda link: _is_valid_token(link, "token", token, now))
        if kept is None:
            return message_page("Nothing to choose here", LINK_EXPIRED_MESSAGE, 403)
        stay = {"session": token_digest(session), "until": (now + SESSION_LIFETIME).isoformat()}
        await secrets.set_value(connector, "visit", {**stay, "return_url": kept["return_url"]})
        answer = RedirectResponse(f"{PICKER_PATH}/{connector}", 303, {"Referrer-Policy": "no-referrer"})
        answer.set_cookie(
            SESSION_COOKIE,
            session,
            max_age=int(SESSION_LIFETIME.total_seconds()),
            path=f"{PICKER_PATH}/{connector}",
            secure=self.connection_factory.public_url.startswith("https://"),
            httponly=True,
            # Lax, because links on other sites open the page; changes need a PUT of JSON.
            samesite="lax",
        )
        return answer

    async def _session(self, request: Request) -> _PickerSession | None:
        row = self.registry.find_active(request.path_params["connector"])
        if row is None or row.status != "active":
            return None
        kept = (await self.connection_factory.secret_store.read(row.id)).get("visit")
        cookie = request.cookies.get(SESSION_COOKIE, "")
        provider = self.connection_factory.providers.get(row.provider)
        if kept is None or provider is None or not _is_valid_token(kept, "session", cookie, self.registry.now()):
            return None
        return _PickerSession(row, provider, kept["return_url"])


def _is_valid_token(stored: Mapping[str, Any], field: str, given: str, now: datetime) -> bool:
    if field not in stored or datetime.fromisoformat(stored["until"]) <= now:
        return False
    return hmac.compare_digest(str(stored[field]), token_digest(given))


def _entry_json(entry: PickerEntry) -> dict[str, Any]:
    return {"id": entry.id, "name": entry.name, "kind": entry.kind, "detail": entry.detail, "opens": entry.expandable}


def _session_expired() -> Response:
    return JSONResponse({"error": "This visit has ended. Ask for a new link."}, 403, SECURITY_HEADERS)
