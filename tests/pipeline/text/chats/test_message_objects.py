"""Chats that programs wrote as objects: libraries, exports and tables, each in its own shape."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from pipeline.text.speaker_attribution import parse_utterances

TURNS = (("user", "I live in Leeds."), ("assistant", 'I am a "model" in Rome.'), ("user", "We moved to York."))


def _with(field: str, text: str, roles: tuple[str, str] = ("user", "assistant")) -> list[dict[str, Any]]:
    return [{field: roles[role == "assistant"], text: said} for role, said in TURNS]


def _mapping() -> dict[str, Any]:
    nodes = {
        str(at): {"message": {"author": {"role": role}, "content": {"parts": [said]}}, "parent": str(at - 1)}
        for at, (role, said) in enumerate(TURNS)
    }
    return {"title": "Moving", "mapping": {"root": {"message": None}, **nodes}}


SHAPES: dict[str, Any] = {
    "OpenAI": _with("role", "content"),
    "a request with a system prompt": {
        "model": "m",
        "messages": [{"role": "system", "content": "I am in Rome."}, *_with("role", "content")],
    },
    "content in parts": [{"role": role, "content": [{"type": "text", "text": said}]} for role, said in TURNS],
    "AI SDK": [
        {"id": str(at), "role": role, "parts": [{"type": "text", "text": said}]}
        for at, (role, said) in enumerate(TURNS)
    ],
    "Gemini": {
        "contents": [{"role": "user" if role == "user" else "model", "parts": [{"text": said}]} for role, said in TURNS]
    },
    "LangChain": [{"type": "human" if role == "user" else "ai", "data": {"content": said}} for role, said in TURNS],
    "LangChain, dumped": [
        {"lc": 1, "type": "constructor", "kwargs": {"type": "human" if role == "user" else "ai", "content": said}}
        for role, said in TURNS
    ],
    "ShareGPT": [{"conversations": _with("from", "value", ("human", "gpt"))}],
    "events": {"events": [{"event": "action", "name": "listen"}, *_with("event", "text", ("user", "bot"))]},
    "a call of a tool": [
        *_with("role", "content")[:2],
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]},
        {"role": "tool", "content": "I live in Rome."},
        _with("role", "content")[2],
    ],
    "an exported tree": _mapping(),
}
WRITTEN: dict[str, Callable[[Any], str]] = {
    "JSON": json.dumps,
    "JSON of several lines": lambda value: json.dumps(value, indent=2),
    "Python": str,
}


@pytest.mark.parametrize("written", WRITTEN)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_chat_as_an_object_is_what_its_user_says(shape: str, written: str) -> None:
    text = WRITTEN[written](SHAPES[shape])
    said = parse_utterances(text)
    assert [(part.speaker, part.text) for part in said] == [(None, "I live in Leeds."), (None, "We moved to York.")]
    assert all(part.is_chat for part in said)
    assert all(text[part.start : part.start + len(part.text)] == part.text for part in said if part.start is not None)


def test_a_message_may_be_a_line_or_a_row() -> None:
    for text in (
        "\n".join(map(json.dumps, _with("role", "content"))),
        "role,content\n" + "\n".join(f'{role},"{said.replace(chr(34), "")}"' for role, said in TURNS),
        "| Role | Message |\n|---|---|\n" + "\n".join(f"| {role} | {said} |" for role, said in TURNS),
    ):
        assert [part.text for part in parse_utterances(text)] == ["I live in Leeds.", "We moved to York."]


@pytest.mark.parametrize(
    "text",
    [
        '[{"id": 1, "type": "bug"}, {"id": 2, "type": "task"}]',
        '{"name": "widget", "version": "1.0"}',
        '{"name": "a"}\n{"name": "b"}',
        "name,text\nsink,I drip\ntap,I leak",
        "| Name | Price |\n|---|---|\n| sink | 3 |",
        "{'unfinished': [",
        "[" * 100_000,
        "{'a': " * 100_000,
    ],
)
def test_other_data_is_no_chat(text: str) -> None:
    assert [(part.speaker, part.is_chat) for part in parse_utterances(text)] == [(None, False)]
