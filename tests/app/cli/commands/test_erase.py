"""`recollect erase`: what it asks of the service."""

from typing import Any

import pytest
from typer.testing import CliRunner

from app.cli.main import app
from app.cli.remote_service import RemoteService

REPORT = {
    "documents": 1, "chunks": 1, "memories": 0, "sharedMemories": 0, "events": {"a": 2}, "blobs": 0, "keys": 3,
    "digest": "d", "endedAt": "now", "waitingEvents": 0, "waitingBlobs": 0, "retainedEvents": 0,
    "goingMemories": [
        {"id": "a", "memory": "User's sister is [Clara]", "isDerived": False},
        {"id": "b", "memory": "User's sister lives in Rome", "isDerived": True},
    ],
}  # fmt: skip


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Bodies of the requests."""
    bodies: list[Any] = []

    def answer(_: RemoteService, _method: str, _path: str, *, json: Any, **__: Any) -> Any:
        bodies.append(json)
        return REPORT

    monkeypatch.setattr(RemoteService, "request", answer)
    return bodies


def _run(*words: str, said: str | None = None) -> str:
    return CliRunner().invoke(app, ["erase", *words, "--url", "http://127.0.0.1:9", "--key", "k"], input=said).output


def test_only_an_erasure_that_asks_first_counts_first(asked: list[Any]) -> None:
    assert "Erased: 1 document, 1 chunk, 0 memories, 2 events, 0 blobs, 3 keys." in _run("alice", "diary", "--yes")
    assert asked == [{"namespace": "alice", "documents": ["diary"]}]
    asked.clear()
    shown = _run("alice", "diary", "--dry-run", "--yes")
    assert "Would go: 1 document" in shown
    assert "\n  User's sister is [Clara]\n  follows from these: User's sister lives in Rome\n" in shown
    assert [body["dryRun"] for body in asked] == [True]
    asked.clear()
    assert "Erase for ever" in _run("alice", "--everything", said="n\n")
    assert asked == [{"namespace": "alice", "dryRun": True}]
