"""One request's id, from the HTTP call to the last stage, in log lines that hold no text of anybody."""

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from pipeline.logs import TRAIL, JsonLines
from schemas.topics import DOCUMENTS_SUBMITTED
from tests.contract import Client
from tests.service.world import ADMIN, World

pytestmark = pytest.mark.anyio
FIRST_TO_LAST = {"extract", "chunk", "embed", "form", "relate"}


class Lines(logging.Handler):
    """Every line of the service as machines get it."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(JsonLines())
        self.text: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.text.append(self.format(record))

    def of(self, request: str) -> list[dict[str, Any]]:
        return [line for line in map(json.loads, self.text) if line.get("request_id") == request]

    def stages(self, request: str) -> set[str]:
        return {line["stage"] for line in self.of(request) if line["message"] == "handled"}


@pytest.fixture
def lines() -> Iterator[Lines]:
    handler = Lines()
    root = logging.getLogger()
    before = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    TRAIL.setLevel(logging.INFO)
    yield handler
    TRAIL.setLevel(logging.NOTSET)
    root.setLevel(before)
    root.removeHandler(handler)


async def _add(client: Client, ns: str, request: str, **body: Any) -> None:
    headers = {"x-request-id": request}
    answered = await client("POST", f"/ns/{ns}/document", body, headers=headers)
    assert answered.is_success
    assert answered.headers["x-request-id"] == request


@pytest.mark.parametrize("dreaming", ["instant", "dynamic"])
async def test_one_id_runs_from_the_call_to_the_last_stage(
    service: World, client: Client, ns: str, lines: Lines, dreaming: str
) -> None:
    request = f"req-{ns}-{dreaming}"
    await _add(client, ns, request, content="Ada lives in Berlin.", id="x", dreaming=dreaming)
    await service.settled()
    assert lines.stages(request) == {*FIRST_TO_LAST, "settings"}
    (answered,) = [line for line in lines.of(request) if line["message"] == "answered"]
    assert (answered["route"], answered["status"]) == ("/ns/{namespace}/document", 200)
    (extracted,) = [line for line in lines.of(request) if line.get("stage") == "extract"]
    topic, partition, offset = extracted["event"].split("/")
    assert (topic, int(partition), int(offset)) == (
        DOCUMENTS_SUBMITTED.name, extracted["partition"], extracted["offset"],
    )  # fmt: skip


async def test_the_ids_of_many_requests_at_once_do_not_mix(
    service: World, client: Client, ns: str, lines: Lines
) -> None:
    await service.add(ns, "Ada lives here.", id="first")
    for number in range(20):
        content = f"Ada has {number} cats."
        await _add(client, ns, f"{ns}-{number}", content=content, id=f"d{number}", dreaming="instant")
    await service.settled()
    for number in range(20):
        assert lines.stages(f"{ns}-{number}") == FIRST_TO_LAST
        handled = [line for line in lines.of(f"{ns}-{number}") if line["message"] == "handled"]
        assert len(handled) == len(FIRST_TO_LAST), "each stage had one event of it"


async def test_a_dead_letter_is_logged_with_the_request_it_goes_back_to(
    service: World, client: Client, ns: str, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: Any) -> Any:
        raise ArithmeticError("a bug")

    monkeypatch.setattr(type(service.pipeline.embedder), "documents", fail)
    await _add(client, ns, f"{ns}-bad", content="Ada lives in Berlin.", id="x", taskType="superrag")
    await service.settled()
    (parked,) = [line for line in lines.of(f"{ns}-bad") if ": parked " in line["message"]]
    assert parked["stage"] == "embed"
    assert parked["event"] in parked["message"]


async def test_log_lines_hold_no_text_and_no_secret(
    service: World, client: Client, ns: str, lines: Lines
) -> None:
    marked = "Zanzibarquartz"
    added = await client.ok("POST", "/admin/keys", {"name": "of tests", "role": "write"})
    await service.add(ns, f"Ada lives in {marked}.", id="x")
    await service.add(ns, "http://127.0.0.1:9/Zanzibarquartz?token=Zanzibarquartz", id="url")
    files = {"file": ("broken.pdf", f"%PDF-1.7 {marked}".encode(), "application/pdf")}
    await client.ok("POST", f"/ns/{ns}/document/file", files=files)
    await service.settled()
    await service.search(ns, f"{marked}?")
    await client("POST", f"/ns/{ns}/search", {"query": marked, "filter": {"nonsense": marked}})
    text = "\n".join(lines.text)
    assert "handled" in text
    assert marked not in text
    assert added["key"] not in text
    assert ADMIN not in text
