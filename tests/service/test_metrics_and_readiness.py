"""/health, /ready and /metrics of a running service, and of one with a failed component."""

import asyncio
import errno
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families as families

from pipeline import health
from pipeline.errors import OutageError
from pipeline.store.single_process.exclusive_lance_table import ExclusiveLanceTable
from tests.support.contract_client import ContractClient
from tests.support.service_world import RunningService, running_service, wait_until

pytestmark = pytest.mark.anyio


async def _metric_samples(client: ContractClient) -> Callable[..., float | None]:
    """The samples of a scrape, by name and labels."""
    text = (await client("GET", "/metrics")).text
    found = {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in families(text)
        for sample in family.samples
    }
    return lambda name, **labels: found.get((f"recollect_{name}", frozenset(labels.items())))


async def test_metrics_say_what_came_in_what_was_found_and_how_long_it_took(
    service: RunningService, client: ContractClient, ns: str
) -> None:
    # Forming memories brings a namespace into memory, so that no search misses it.
    unread = f"{ns}-unread"
    await service.add_document(unread, "Ada lives in Berlin.", id="x", taskType="superrag")
    await service.wait_idle()
    before = await _metric_samples(client)
    await service.add_document(ns, "Ada lives in Berlin.", id="x")
    await service.wait_idle()
    await service.search(unread, "Where does Ada live?")
    await service.search(unread, "Where does Ada live?")
    await client.ok("POST", f"/ns/{unread}/explain/search", {"query": "Where does Ada live?"})
    await client("GET", f"/ns/{ns}/document/missing")
    await client("GET", "/no/such/place")
    after = await _metric_samples(client)

    def grown(name: str, **labels: str) -> float:
        return (after(name, **labels) or 0) - (before(name, **labels) or 0)

    for milestone in ("found", "embedded", "remembered"):
        assert grown("ingest_seconds_count", until=milestone) == 1
        assert 0 < grown("ingest_seconds_sum", until=milestone) < 20
    assert grown("search_seconds_count") == 3
    search = {"method": "POST", "route": "/ns/{namespace}/search"}
    assert grown("http_requests_total", **search, status="200") == 2
    assert grown("http_request_seconds_count", **search) == 2
    document = {"method": "GET", "route": "/ns/{namespace}/document/{id:path}"}
    assert grown("http_requests_total", **document, status="404") == 1
    assert grown("http_requests_total", method="GET", route="unknown", status="404") == 1
    for stage in ("extract", "chunk", "index", "embed", "form_memories", "project_memories"):
        assert grown("stage_records_total", stage=stage, outcome="handled") >= 1
    assert grown("embedder_seconds_count", call="documents") >= 1
    assert (grown("index_cache_misses"), grown("index_cache_hits")) == (1, 2)
    assert after("consumer_lag_records", stage="embed", topic="documents.chunked.v1") == 0
    assert after("dead_letters", topic="documents.submitted.v1") == 0
    await service.pipeline.store.documents.flush()
    flushed = await _metric_samples(client)
    for part in ("rows", "bytes", "files", "versions"):
        assert (flushed(f"table_{part}", table="documents") or 0) > 0
    assert (flushed("log_bytes") or 0) > 0
    assert (flushed("index_cache_bytes") or 0) > 0


async def test_a_bus_that_does_not_answer_is_named_and_costs_no_other_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running_service(tmp_path) as service:
        bus = service.pipeline.bus
        monkeypatch.setattr(bus, "lag", lambda _: asyncio.sleep(3600))
        monkeypatch.setattr(health, "BUS_TIMEOUT_SECONDS", 0.01)
        metric = await _metric_samples(service.client)
        assert metric("disk_free_bytes")
        assert metric("consumer_lag_records", stage="embed", topic="documents.chunked.v1") is None
        assert metric("dead_letters", topic="documents.submitted.v1") is None
        assert metric("health_issues", component="bus") == 1
        reason = f"{bus.description} did not answer within 0 s."
        named = [{"part": "bus", "reason": reason}]
        answer = await service.client("GET", "/ready")
        assert (answer.status_code, answer.json()["reasons"]) == (503, named)
        assert (await service.client.ok("GET", "/admin/status"))["healthIssues"] == named


async def test_the_id_of_a_document_or_namespace_is_no_label(
    service: RunningService, client: ContractClient, ns: str
) -> None:
    await service.add_document(ns, "Ada lives in Berlin.", id="a-very-private-id")
    await client("GET", f"/ns/{ns}/document/a-very-private-id")
    text = (await client("GET", "/metrics")).text
    assert "a-very-private-id" not in text
    assert f"/ns/{ns}" not in text


async def test_a_service_that_works_is_ready(client: ContractClient) -> None:
    answer = await client.ok("GET", "/ready")
    assert (answer["status"], answer["reasons"]) == ("ready", [])


async def _readiness_reasons(client: ContractClient) -> dict[str, str]:
    response = await client("GET", "/ready")
    if response.status_code == 200:
        return {}
    assert response.status_code == 503
    assert response.headers["retry-after"]
    assert (await client("GET", "/health")).status_code == 200, "it answers all the same"
    return {reason["part"]: reason["reason"] for reason in response.json()["reasons"]}


async def test_a_stage_that_waits_is_named_until_it_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "RETRY_TOLERANCE_SECONDS", 0.0)
    async with running_service(tmp_path) as service:
        embedder, away = service.pipeline.embedder, True
        documents = type(embedder).embed_documents

        async def answer(self: Any, texts: Any) -> Any:
            if away:
                raise OutageError("the endpoint is away")
            return await documents(self, texts)

        monkeypatch.setattr(type(embedder), "embed_documents", answer)
        await service.add_document("home", "Ada lives in Berlin.", id="x")
        reasons = await wait_until(lambda: _readiness_reasons(service.client), "not ready")
        assert "OutageError" in reasons["stage embed"]
        assert "Berlin" not in str(reasons)
        away = False
        await service.wait_idle()
        assert await _readiness_reasons(service.client) == {}


async def test_tables_that_cannot_be_written_and_a_full_disk_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running_service(tmp_path) as service:
        commit, full = ExclusiveLanceTable.commit, True

        async def refuse(self: Any, changed: Any) -> None:
            if full:
                raise OSError(errno.ENOSPC, "No space left on device")
            await commit(self, changed)

        monkeypatch.setattr(ExclusiveLanceTable, "commit", refuse)
        monkeypatch.setattr(health, "MIN_FREE_DISK_BYTES", 2**62)
        await service.add_document("home", "Ada lives in Berlin.", id="x")

        async def named() -> dict[str, str]:
            reasons = await _readiness_reasons(service.client)
            return reasons if "tables" in reasons else {}

        reasons = await wait_until(named, "tables named")
        assert reasons["tables"].endswith("cannot be written (No space left on device)")
        assert "free" in reasons["disk"]
        full = False
        monkeypatch.setattr(health, "MIN_FREE_DISK_BYTES", 0)
        await service.wait_idle()

        async def well() -> bool:
            return await _readiness_reasons(service.client) == {}

        await wait_until(well, "ready again")


async def test_a_disk_that_can_name_no_more_files_is_named(
    client: ContractClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "free_files", lambda _: 3)
    assert "only 3 more files (inodes)" in (await _readiness_reasons(client))["disk"]
    assert (await _metric_samples(client))("health_issues", component="disk") == 1


async def test_the_least_free_space_is_that_of_the_disks_of_tables_and_blobs_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = [str(tmp_path / "tables"), str(tmp_path / "blobs")]
    async with running_service(tmp_path / "data", lance_uri=places[0], blob_uri=places[1]) as service:
        await service.add_document("home", "word " * 100_000, id="large")
        for full in places:
            monkeypatch.setattr(shutil, "disk_usage", partial(_usage_of, full))
            metric = await _metric_samples(service.client)
            assert metric("disk_free_bytes") == 7
            assert "0 MiB are free" in (await _readiness_reasons(service.client))["disk"]


def _usage_of(full: str, folder: Path) -> Any:
    """Return the usage of a disk that is full if it holds a folder."""
    return SimpleNamespace(free=7 if folder == Path(full) else 2**40)
