"""The service in one process: HTTP interface, pipeline and connectors on one event loop."""

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from api.application import create_app
from api.dependencies.app_state import AppState, CurrentAppState
from api.middleware.admission_control import RequestLimits
from api.policies import api_keys
from api.uvicorn_server import listener_url, serve
from app.container import open_container
from app.data_directories import ADMIN_KEY_FILE, write_address, write_admin_key
from app.process_tuning import freeze_startup_objects
from pipeline.memory.grammar.english_parser import load_parser
from pipeline.runtime.fair_event_loop import run_in_background_lane
from pipeline.settings import Settings

DRAIN_TIMEOUT_SECONDS = 10.0
"""Limit for finishing the batches in progress at shutdown."""
_ASYNCAPI_FILE = Path(__file__).parents[1] / "docs" / "asyncapi.json"
"""Generated at release: generating it here would import FastStream, which takes seconds."""
_SITE_DIR = Path(__file__).parents[1] / "site"
"""Documentation: in a wheel always, in a checkout after `make docs`."""


async def run_service(
    settings: Settings, listener: socket.socket, roles: frozenset[str], echo: Callable[[str], None]
) -> None:
    """Open all components and serve until one of them ends; `echo` prints the addresses."""
    own_key = settings.reveal(settings.admin_key)
    public_url = settings.public_url or listener_url(listener, settings.host)
    serve_api = "api" in roles
    async with open_container(
        settings,
        admin_key=own_key,
        public_url=public_url,
        runs_stages="pipeline" in roles,
        serves_requests=roles != {"pipeline"},
    ) as container:
        supervisor, connectors, serving = container.supervisor, container.connectors, container.serving
        first_key = await _create_first_admin_key(serving.state) if own_key is None and serve_api else None
        if first_key is not None:
            write_admin_key(settings.data_dir, first_key)

        @asynccontextmanager
        async def open_state() -> AsyncIterator[CurrentAppState]:
            yield serving

        app = create_app(
            open_state,
            connectors.routes if connectors else (),
            asyncapi=_ASYNCAPI_FILE.read_bytes(),
            site=_SITE_DIR,
            serve_api=serve_api,
            limits=_request_limits(settings),
            cors_origins=settings.split_list(settings.cors_origins),
            public_url=settings.public_url,
        )

        async def serve_and_drain() -> None:
            await serve(
                app,
                listener,
                partial(_on_listening, settings, listener, roles, first_key, echo),
                container.feed.end_streams,
                log_level=settings.log_level,
                trusted_proxies=settings.split_list(settings.trusted_proxies),
            )
            await supervisor.drain(DRAIN_TIMEOUT_SECONDS)

        if settings.process_tuning:
            freeze_startup_objects()
        work = [supervisor.run(), serve_and_drain()]
        if connectors and "connectors" in roles:
            work.append(run_in_background_lane(connectors.run))
        if "pipeline" in roles and supervisor.resources.is_multi_process:
            work.append(run_in_background_lane(container.replay_worker.run))
        if "pipeline" in roles:
            work.append(run_in_background_lane(container.run_questions))
        if "pipeline" in roles and container.erasures.is_supported:
            work.append(run_in_background_lane(container.erasures.run))
        if "pipeline" in roles and container.key_destroyer.is_needed:
            work.append(run_in_background_lane(container.key_destroyer.run))
        try:
            await _run_until_first_ends(*map(asyncio.create_task, work))
        finally:
            await container.replays.stop()
            await container.erasures.stop()
            container.key_destroyer.close()


async def _create_first_admin_key(state: AppState) -> str | None:
    """Create an admin key and return its secret; None where the catalog has one already."""
    async with state.settings_lock.acquire(api_keys.KEYS_LOCK):
        stored_keys = state.catalog.keys()
        if any(row.role == "admin" and row.revoked_at is None for row in stored_keys):
            return None
        change, secret = api_keys.create_key("first admin key", "admin", None, now=state.clock.now())
        await api_keys.publish_keys([change], state.publisher, state.settings_lock)
        return secret


def _request_limits(settings: Settings) -> RequestLimits:
    return RequestLimits(
        max_concurrent=settings.max_concurrent_requests,
        max_loop_lag_seconds=settings.max_loop_lag_seconds,
        idle_timeout_seconds=settings.request_idle_timeout_seconds,
        max_body_bytes=settings.max_body_mb << 20,
    )


async def _run_until_first_ends(*tasks: asyncio.Task[None]) -> None:
    """Wait for the first task to end, cancel the others, and raise the first error."""
    done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in pending:
        task.cancel()
    results = await asyncio.gather(*done, *pending, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException) and not isinstance(result, asyncio.CancelledError):
            raise result


def _on_listening(
    settings: Settings,
    listener: socket.socket,
    roles: frozenset[str],
    first_admin_key: str | None,
    echo: Callable[[str], None],
) -> None:
    _announce_address(settings, listener, first_admin_key, echo, serve_api="api" in roles)
    if "pipeline" in roles:
        # Loaded after the start, so that neither the start nor the first message waits seconds for it.
        threading.Thread(target=load_parser, name="load-parser", daemon=True).start()


def _announce_address(
    settings: Settings,
    listener: socket.socket,
    first_admin_key: str | None,
    echo: Callable[[str], None],
    *,
    serve_api: bool,
) -> None:
    local = listener_url(listener, settings.host)
    public_url = settings.public_url or local
    if serve_api:
        # Commands on this machine read the address from here.
        write_address(settings.data_dir, local)
    echo(f"recollect answers at {public_url}")
    if serve_api:
        echo(f"Console: {public_url}/console")
    if first_admin_key is not None:
        echo(f"Admin key (shown only now): {first_admin_key}")
        echo(f"Commands of this user on this machine read it from {settings.data_dir / ADMIN_KEY_FILE}")
