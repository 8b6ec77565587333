"""The collections that searches are judged on, read from a folder; they are not part of the project."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CHUNK = 800
_ADVERSARIAL = 5
_GRADES = 5
_SESSIONS = 100


@dataclass(frozen=True)
class Query:
    """A question with the places of what answers it and how well (higher is better)."""

    text: str
    relevant: dict[int, int]


@dataclass(frozen=True)
class Collection:
    """Texts with questions about them; `foreign` questions are about another world, `neighbours` are of the
    same kind but about other people."""

    name: str
    texts: list[str]
    queries: list[Query]
    foreign: list[str]
    neighbours: list[str]


def collections(folder: Path) -> list[list[Collection]]:
    """Groups of collections that are measured as one; says what is missing."""
    locomo, cranfield = folder / "locomo-dev.json", folder / "cranfield"
    strangers = [query.text for query in _cranfield_queries(cranfield)] if cranfield.is_dir() else []
    groups = []
    if locomo.is_file():
        conversations = json.loads(locomo.read_text("utf-8"))
        groups += [_locomo(conversations, strangers, CHUNK if chunked else 0) for chunked in (False, True)]
    else:
        print(f"No {locomo.name} in {folder}: LoCoMo is skipped.")
    if strangers:
        chat = [query.text for group in groups[:1] for corpus in group for query in corpus.queries]
        groups.append([_cranfield(cranfield, chat[::4])])
    else:
        print(f"No cranfield in {folder}: Cranfield is skipped.")
    return groups


def _locomo(conversations: list[dict[str, Any]], strangers: list[str], size: int) -> list[Collection]:
    name = f"LoCoMo, {size} characters" if size else "LoCoMo, turns"
    questions = [_questions(conversation) for conversation in conversations]
    labeled = []
    for at, conversation in enumerate(conversations):
        texts, place = _packed(list(_turns(conversation)), size)
        queries = [
            Query(text, {place[turn]: 1 for turn in evidence if turn in place}) for text, evidence in questions[at]
        ]
        others = [text for other, entries in enumerate(questions) if other != at for text, _ in entries]
        kept = [query for query in queries if query.relevant]
        labeled.append(Collection(name, texts, kept, strangers[::4], others[::4]))
    return labeled


def _turns(conversation: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for session in range(1, _SESSIONS):
        for turn in conversation["conversation"].get(f"session_{session}") or ():
            caption = f" [{turn['blip_caption']}]" if turn.get("blip_caption") else ""
            yield turn["dia_id"], f"{turn['speaker']}: {turn['text']}{caption}"


def _packed(turns: list[tuple[str, str]], size: int) -> tuple[list[str], dict[str, int]]:
    """Turns joined up to `size` characters, and where each turn went."""
    texts: list[str] = []
    place: dict[str, int] = {}
    for turn, text in turns:
        if texts and len(texts[-1]) + len(text) < size:
            texts[-1] += "\n" + text
        else:
            texts.append(text)
        place[turn] = len(texts) - 1
    return texts, place


def _questions(conversation: dict[str, Any]) -> list[tuple[str, list[str]]]:
    return [
        (question["question"], re.findall(r"D\d+:\d+", " ".join(question["evidence"])))
        for question in conversation["qa"]
        if question["category"] != _ADVERSARIAL
    ]


def _cranfield(folder: Path, strangers: list[str]) -> Collection:
    return Collection("Cranfield", _abstracts(folder), _cranfield_queries(folder), strangers, [])


def _abstracts(folder: Path) -> list[str]:
    records = re.split(r"^\.I \d+\s*$", (folder / "cran.all.1400").read_text("utf-8"), flags=re.MULTILINE)[1:]
    return [_field(record, "W") or _field(record, "T") for record in records]


def _cranfield_queries(folder: Path) -> list[Query]:
    records = re.split(r"^\.I \d+\s*$", (folder / "cran.qry").read_text("utf-8"), flags=re.MULTILINE)[1:]
    graded: dict[int, dict[int, int]] = {}
    for line in (folder / "cranqrel").read_text("utf-8").splitlines():
        query, document, grade = (int(number) for number in line.split()[:3])
        if grade > 0:
            graded.setdefault(query, {})[document - 1] = _GRADES - grade
    return [Query(_field(record, "W"), graded[number]) for number, record in enumerate(records, 1) if number in graded]


def _field(record: str, name: str) -> str:
    found = re.search(rf"^\.{name}\s*$(.*?)(?=^\.[A-Z]\s*$|\Z)", record, re.MULTILINE | re.DOTALL)
    return found.group(1).strip() if found else ""
