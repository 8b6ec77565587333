"""`recollect status` for people."""

from typing import Any

from rich.console import Console

from api.commandline.status import _troubles


def shown(**answer: Any) -> str:
    console = Console(width=200)
    whole = {"deadLetters": {}, "failures": [], "waiting": [], "waitingCount": 0, **answer}
    with console.capture() as said:
        console.print(_troubles(whole))
    return said.get()


def test_memories_that_wait_are_named_with_their_reason() -> None:
    late = [{"namespace": "home", "id": "a", "error": "The model endpoint answered 429: [slow] down"}]
    said = shown(waiting=late, waitingCount=3)
    assert "memories of home/a wait" in said
    assert "answered 429: [slow] down" in said
    assert "memories of 2 other documents wait" in said


def test_where_nothing_waits_nothing_is_said_of_it() -> None:
    assert "wait" not in shown()
