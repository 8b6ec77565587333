"""`recollect status` for people."""

from typing import Any

import httpx2
import pytest
from typer.testing import CliRunner

from app.cli.main import app
from app.cli.remote_service import RemoteService


@pytest.fixture
def run_status(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run the command against a service with these fields in its answer; returns the output."""

    def run(**fields: Any) -> str:
        answer = {
            "version": "1",
            "bus": "embedded log",
            "healthIssues": [],
            "disk": {"tables": 1536, "log": None, "free": 0},
            "namespaces": 0,
            "documents": {},
            "chunks": 0,
            "memories": 0,
            "stages": [],
            "deadLetters": {},
            "failures": [],
            "delayed": [],
            "delayedCount": 0,
            **fields,
        }
        transport = httpx2.MockTransport(lambda _: httpx2.Response(200, json=answer))
        with httpx2.Client(transport=transport, base_url="http://test") as client:
            monkeypatch.setattr(RemoteService, "from_options", lambda *_: RemoteService(client))
            return CliRunner(env={"COLUMNS": "200"}).invoke(app, ["status"]).output

    return run


def test_delayed_memories_are_listed_with_their_reason(run_status: Any) -> None:
    delayed = [{"namespace": "home", "id": "a", "error": "The model endpoint answered 429: [slow] down"}]
    output = run_status(delayed=delayed, delayedCount=3)
    assert "memories of home/a wait" in output
    assert "answered 429: [slow] down" in output
    assert "memories of 2 other documents wait" in output


def test_delayed_memories_are_not_mentioned_without_any(run_status: Any) -> None:
    output = run_status()
    assert "wait" not in output
    assert "1.5 KiB" in output
