"""The whole service in one process: pipeline, tables and interface, asked as its users ask."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import httpx
import httpx2
from fastapi import FastAPI
from supermemory import AsyncSupermemory

from api.application import create_app
from api.dependencies.app_state import CurrentAppState
from app.cli.commands.replay_command import replay_offline
from app.container import open_container
from app.generation_pipeline import Pipeline
from app.pipeline_supervisor import PipelineSupervisor
from app.replay.replay_service import ReplayService
from pipeline.settings import Settings
from tests.support.contract_client import ContractClient
from tests.support.timeouts import WAIT_TIMEOUT_SECONDS

ADMIN = "rk_the_admin_key_of_the_tests"
T = TypeVar("T")


@dataclass(frozen=True)
class RunningService:
    """A service that runs, and what a test may look into."""

    client: ContractClient
    official: AsyncSupermemory
    supervisor: PipelineSupervisor
    app: FastAPI
    replays: ReplayService

    @property
    def pipeline(self) -> Pipeline:
        """The one that serves now."""
        return self.supervisor.pipeline

    async def wait_idle(self, *, include_extraction: bool = True) -> None:
        """Wait until all is processed; without `include_extraction`, memories may still wait for a quiet moment."""

        async def rest() -> bool:
            if any((await self.pipeline.health.lag()).values()):
                return False
            return not include_extraction or not await self.pipeline.store.documents.pending_extraction()

        await wait_until(rest, "rest")

    async def add_document(self, namespace: str, content: str, **fields: Any) -> str:
        """The id of a document that was added."""
        body = {"content": content, "dreaming": "instant", **fields}
        added: str = (await self.client.ok("POST", f"/ns/{namespace}/document", body))["id"]
        return added

    async def add_file(
        self, namespace: str, name: str, data: bytes, media_type: str = "application/octet-stream", **form: str
    ) -> str:
        """The id of a document that a file became."""
        upload = {"file": (name, data, media_type)}
        answer = await self.client.ok("POST", f"/ns/{namespace}/document/file", files=upload, data=form)
        return str(answer["id"])

    async def patch_document(self, namespace: str, document: str, **fields: Any) -> Any:
        return await self.client.ok("PATCH", f"/ns/{namespace}/document/{document}", fields)

    async def read_document(self, namespace: str, document: str) -> Any:
        """The document with its chunks and memories."""
        path = f"/ns/{namespace}/document/{document}?include=chunks,memories"
        return await self.client.ok("GET", path)

    async def delete_documents(self, namespace: str, *documents: str) -> Any:
        return await self.client.ok("DELETE", f"/ns/{namespace}/document", {"ids": list(documents)})

    async def list_items(self, namespace: str, kind: str, **body: Any) -> list[Any]:
        """Every item, oldest first; the count of the pagination must agree."""
        path = f"/ns/{namespace}/list/{kind}?limit=100&order=asc"
        answer = await self.client.ok("POST", path, body)
        items: list[Any] = answer[kind]
        assert answer["pagination"]["totalItems"] == len(items), f"{kind} of {namespace}: {answer}"
        return items

    async def replay(self) -> None:
        """Rebuild all tables from the log, and serve the new ones."""
        await self.client.ok("POST", "/admin/replay", {})
        assert (await self.replays.wait_finished()).state == "done"

    async def search(self, namespace: str, query: str, **body: Any) -> list[Any]:
        """Every result with its document, however unlike the query."""
        asked = {"query": query, "threshold": 0, "limit": 100, "include": {"documents": True}, **body}
        results: list[Any] = (await self.client.ok("POST", f"/ns/{namespace}/search", asked))["results"]
        return results


async def wait_until(condition: Callable[[], Awaitable[T]], description: str) -> T:
    """Asked again and again, within a bound, until the answer is true: the one place that polls.

    Ever less often, and for a tenth of the time: what it asks for is made by the same loop, which answers each
    question first, and on Kafka a question is some twenty requests.
    """
    pause, asked = 0.005, time.monotonic()
    try:
        async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
            while not (answer := await condition()):
                await asyncio.sleep(max(pause, 9 * (time.monotonic() - asked)))
                pause, asked = min(1.5 * pause, 0.05), time.monotonic()
    except TimeoutError:
        raise AssertionError(f"{description} did not happen within {WAIT_TIMEOUT_SECONDS:.0f} s") from None
    return answer


def service_settings(folder: Path, **fields: Any) -> Settings:
    """Settings for tests: nothing from the environment, small, no debounce of extraction; a field of None is unset."""
    values = {
        "data_dir": folder,
        "log_partitions": 2,
        "shards": 1,
        "embedder": "wordllama",
        "dreaming_debounce_seconds": 0.0,
        **fields,
    }
    return Settings(_env_file=None, **{name: value for name, value in values.items() if value is not None})


async def rebuild_tables(folder: Path, **fields: Any) -> None:
    """Build new tables from the log while no service runs, as `recollect replay --force` does."""
    await replay_offline(service_settings(folder, **fields), "replay", {"force": True}, as_json=True)


@asynccontextmanager
async def running_service(
    folder: Path, *, run_stages_here: bool = True, runs_stages: bool = True, **fields: Any
) -> AsyncIterator[RunningService]:
    """Run the service on this folder.

    `run_stages_here=False`: requests are answered, and nothing processes what they submit. `runs_stages=False`:
    other processes run the stages.
    """
    chosen = service_settings(folder, **fields)
    async with open_container(chosen, admin_key=ADMIN, runs_stages=runs_stages) as container:
        live, replays, serving = container.supervisor, container.replays, container.serving

        @asynccontextmanager
        async def opening() -> AsyncIterator[CurrentAppState]:
            yield serving

        app = create_app(opening)
        async with (
            _in_background(live.run() if run_stages_here else None),
            _in_background(container.replay_worker.run() if runs_stages and live.resources.is_multi_process else None),
            _in_background(container.run_questions() if run_stages_here and runs_stages else None),
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=httpx.ASGITransport(app)) as http,
        ):
            official = AsyncSupermemory(api_key=ADMIN, base_url="http://test", http_client=http, max_retries=0)
            try:
                yield RunningService(ContractClient(httpx2.ASGITransport(app), ADMIN), official, live, app, replays)
            finally:
                await replays.stop()


@asynccontextmanager
async def _in_background(work: Coroutine[Any, Any, None] | None) -> AsyncIterator[None]:
    """A part of the process beside the test; what breaks it fails the test."""
    if work is None:
        yield
        return
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
