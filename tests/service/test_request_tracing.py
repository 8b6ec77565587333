"""Id of a request, from the HTTP call to the last stage, in log lines that hold no text of anybody."""

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from pipeline.runtime.log_format import ACCESS_LOGGER, JsonLinesFormatter
from schemas.topics import DOCUMENTS_SUBMITTED
from tests.support.contract_client import ContractClient
from tests.support.service_world import ADMIN, RunningService

pytestmark = pytest.mark.anyio
FIRST_TO_LAST = {"extract", "chunk", "index", "embed", "form_memories", "project_memories"}


class CapturedLogLines(logging.Handler):
    """Every line of the service as machines get it."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(JsonLinesFormatter())
        self.text: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.text.append(self.format(record))

    def of_request(self, request: str) -> list[dict[str, Any]]:
        return [line for line in map(json.loads, self.text) if line.get("request_id") == request]

    def stages(self, request: str) -> set[str]:
        return {line["stage"] for line in self.of_request(request) if line["message"] == "handled"}


@pytest.fixture
def lines() -> Iterator[CapturedLogLines]:
    handler = CapturedLogLines()
    root = logging.getLogger()
    before = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    ACCESS_LOGGER.setLevel(logging.INFO)
    yield handler
    ACCESS_LOGGER.setLevel(logging.NOTSET)
    root.setLevel(before)
    root.removeHandler(handler)


async def _add(client: ContractClient, ns: str, request: str, **body: Any) -> None:
    headers = {"x-request-id": request}
    answered = await client("POST", f"/ns/{ns}/document", body, headers=headers)
    assert answered.is_success
    assert answered.headers["x-request-id"] == request


@pytest.mark.parametrize("dreaming", ["instant", "dynamic"])
async def test_one_id_runs_from_the_call_to_the_last_stage(
    service: RunningService, client: ContractClient, ns: str, lines: CapturedLogLines, dreaming: str
) -> None:
    request = f"req-{ns}-{dreaming}"
    await _add(client, ns, request, content="Ada lives in Berlin.", id="x", dreaming=dreaming)
    await service.wait_idle()
    assert lines.stages(request) == {*FIRST_TO_LAST, "settings"}
    (answered,) = [line for line in lines.of_request(request) if line["message"] == "answered"]
    assert (answered["route"], answered["status"]) == ("/ns/{namespace}/document", 200)
    (extracted,) = [line for line in lines.of_request(request) if line.get("stage") == "extract"]
    topic, partition, offset = extracted["event"].split("/")
    assert (topic, int(partition), int(offset)) == (
        DOCUMENTS_SUBMITTED.name, extracted["partition"], extracted["offset"],
    )  # fmt: skip


async def test_the_ids_of_many_requests_at_once_do_not_mix(
    service: RunningService, client: ContractClient, ns: str, lines: CapturedLogLines
) -> None:
    await service.add_document(ns, "Ada lives here.", id="first")
    for number in range(20):
        content = f"Ada has {number} cats."
        await _add(client, ns, f"{ns}-{number}", content=content, id=f"d{number}", dreaming="instant")
    await service.wait_idle()
    for number in range(20):
        assert lines.stages(f"{ns}-{number}") == FIRST_TO_LAST
        handled = [line for line in lines.of_request(f"{ns}-{number}") if line["message"] == "handled"]
        assert len(handled) == len(FIRST_TO_LAST), "each stage had one event of it"


async def test_a_dead_letter_is_logged_with_the_request_it_goes_back_to(
    service: RunningService,
    client: ContractClient,
    ns: str,
    lines: CapturedLogLines,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def fail(*_: Any) -> Any:
        raise ArithmeticError("a bug")

    monkeypatch.setattr(type(service.pipeline.embedder), "embed_documents", fail)
    await _add(client, ns, f"{ns}-bad", content="Ada lives in Berlin.", id="x", taskType="superrag")
    await service.wait_idle()
    (parked,) = [line for line in lines.of_request(f"{ns}-bad") if ": dead-lettered " in line["message"]]
    assert parked["stage"] == "embed"
    assert parked["event"] in parked["message"]


async def test_log_lines_hold_no_text_and_no_secret(
    service: RunningService, client: ContractClient, ns: str, lines: CapturedLogLines
) -> None:
    marked = "Zanzibarquartz"
    added = await client.ok("POST", "/admin/keys", {"name": "of tests", "role": "write"})
    await service.add_document(ns, f"Ada lives in {marked}.", id="x")
    await service.add_document(ns, "http://127.0.0.1:9/Zanzibarquartz?token=Zanzibarquartz", id="url")
    files = {"file": ("broken.pdf", f"%PDF-1.7 {marked}".encode(), "application/pdf")}
    await client.ok("POST", f"/ns/{ns}/document/file", files=files)
    await service.wait_idle()
    await service.search(ns, f"{marked}?")
    await client("POST", f"/ns/{ns}/search", {"query": marked, "filter": {"nonsense": marked}})
    text = "\n".join(lines.text)
    assert "handled" in text
    assert marked not in text
    assert added["key"] not in text
    assert ADMIN not in text
