"""`recollect dlq`: all dead letters of a topic, however many, and only of topics that exist."""

from collections import Counter
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from app.cli.conventions import ExitCode
from app.cli.main import app
from app.cli.remote_service import RemoteService

TOPIC, OTHER = "documents.submitted.v1", "memories.formed.v1"


@pytest.fixture
def waiting(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Dead letters of a service that takes as many at a time as the interface does; each comes back at once."""
    waiting = Counter({TOPIC: 2500, OTHER: 3})
    moved: Counter[str] = Counter()

    def answer(_: RemoteService, method: str, path: str, *, params: Any = None) -> Any:
        if path == "/admin/status":
            return {"deadLetters": dict(waiting)}
        assert params["limit"] <= 1000
        count = min(params["limit"], waiting[params["topic"]])
        moved[params["topic"]] += count
        return {"redriven" if method == "POST" else "dropped": count}

    monkeypatch.setattr(RemoteService, "request", answer)
    return moved


def _run(*words: str) -> Result:
    return CliRunner().invoke(app, ["dlq", *words, "--url", "http://127.0.0.1:9", "--key", "k"])


def test_every_dead_letter_is_redriven_once_though_it_comes_back(waiting: Counter[str]) -> None:
    assert "2503 records redriven" in _run("redrive").output
    assert waiting == {TOPIC: 2500, OTHER: 3}


def test_a_topic_is_dropped_whole_by_its_name_or_that_of_its_dead_letters(waiting: Counter[str]) -> None:
    assert "3 records dropped" in _run("drop", OTHER, "--yes").output
    assert "2500 records dropped" in _run("drop", f"{TOPIC}.dlq", "--yes").output
    assert waiting == {TOPIC: 2500, OTHER: 3}


@pytest.mark.parametrize("words", [("redrive", "documents.submited.v1"), ("list", "x"), ("drop", "x", "--yes")])
def test_a_topic_that_does_not_exist_is_named(words: tuple[str, ...], waiting: Counter[str]) -> None:
    done = _run(*words)
    assert done.exit_code == ExitCode.NOT_FOUND
    assert f"There is no topic {words[1]}" in done.output
    assert not waiting
