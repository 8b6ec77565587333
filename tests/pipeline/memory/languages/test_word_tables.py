"""Tables of words: each kind in one file, each entry in a list once."""

import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipeline.memory import languages

_FILES = {path.name: path for path in sorted(Path(languages.__file__).parent.glob("*.toml"))}


def _tables(name: str) -> dict[str, Any]:
    return tomllib.loads(_FILES[name].read_text("utf-8"))


def _lists(value: object) -> Iterator[list[str]]:
    if isinstance(value, dict):
        for part in value.values():
            yield from _lists(part)
    elif isinstance(value, list) and all(isinstance(entry, str) for entry in value):
        yield value


def test_a_kind_of_english_words_is_in_one_file() -> None:
    kinds = Counter(kind for name in _FILES if name.startswith("en") for kind in _tables(name))
    assert [kind for kind, files in kinds.items() if files > 1] == []


@pytest.mark.parametrize("name", _FILES)
def test_a_list_has_each_entry_once(name: str) -> None:
    again = [entry for entries in _lists(_tables(name)) for entry, times in Counter(entries).items() if times > 1]
    assert [entry for entry in again if entry] == []
