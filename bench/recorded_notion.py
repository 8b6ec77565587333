"""Recorded answers of Notion, converted as the connector does: which objects keep all of their words.

    python -m bench.recorded_notion --data DIR

The expected words of an object are taken from its JSON by the names of fields that hold texts. A recorded refusal
counts as failed if the client's message for it gives a reason.
"""

import argparse
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx2
import yaml

from bench.recall import DATA
from connectors.errors import ItemError
from connectors.providers.common.item_fetcher import item_response
from connectors.providers.notion.content import (
    PageText,
    block_markdown,
    comment_lines,
    object_title,
    property_lines,
)

_WORD = re.compile(r"\w{2,}")
_TEXT_FIELDS = frozenset({"plain_text", "name", "start", "end", "email", "phone_number", "string", "number", "prefix"})
_TAG = re.compile(r"<[^>]*>|\{[^}]*\}|\([^)]*\)")
"""Tags, attributes of blocks and addresses of links in a page's Markdown, which hold no words of its text."""


def main() -> None:
    """Print how many recorded objects are read whole, and name the others."""
    options = argparse.ArgumentParser(prog="python -m bench.recorded_notion", description=__doc__)
    options.add_argument("--data", type=Path, default=DATA, help="folder of the collections")
    folder = options.parse_args().data / "recordings" / "notion"
    if not folder.is_dir():
        print(f"No {folder}: Notion's answers are skipped.")
        return
    read, right, failed, answers = Counter[str](), Counter[str](), 0, 0
    for path in sorted(folder.rglob("*.yaml")):
        for status, body in _answers(path):
            answers += 1
            failed += status >= 400 and _has_reason(status)
            for found in _objects(body) if status < 400 else ():
                kind = found["object"]
                lost = _expected(found) - _words(_CONVERTERS[kind](found))
                read[kind] += 1
                right[kind] += not lost
                if lost:
                    print(f"  {path.name}: {kind} {found.get('id')} lacks {sorted(lost)[:5]}")
    print(f"{answers} answers, {failed} of them refusals with a reason.\n")
    print("| | objects | right | lost |\n|---|---:|---:|---:|")
    for kind, count in sorted(read.items()):
        print(f"| {kind} | {count} | {right[kind]} | {count - right[kind]} |")
    print(f"| all | {read.total()} | {right.total()} | {read.total() - right.total()} |")


def _answers(path: Path) -> Iterator[tuple[int, Any]]:
    for exchange in yaml.safe_load(path.read_text("utf-8"))["interactions"]:
        answer = exchange["response"]
        status = int(answer.get("status_code") or answer["status"]["code"])
        try:
            yield status, json.loads(answer.get("content") or (answer.get("body") or {}).get("string") or "")
        except ValueError:
            yield status, None


def _objects(body: Any) -> Iterator[dict[str, Any]]:
    """Iterate the pages, blocks, databases, data sources, comments and bodies within an answer."""
    if isinstance(body, dict):
        if body.get("object") in _CONVERTERS:
            yield body
        for entry in body.get("results") or ():
            yield from _objects(entry)


def _has_reason(status: int) -> bool:
    try:
        item_response(httpx2.Response(status), "Notion")
    except ItemError as error:
        return bool(str(error))
    return False


def _expected(found: Mapping[str, Any]) -> set[str]:
    kind = found["object"]
    if kind == "page_markdown":
        return _words(_TAG.sub(" ", found["markdown"]))
    if kind == "page":
        return _words(" ".join(_texts(list(found.get("properties", {}).values()))))
    if kind == "block":
        return _words(" ".join(_texts(found.get(found["type"]) or {})))
    return _words(" ".join(_texts(found.get("title") or found.get("rich_text") or [])))


def _texts(value: Any) -> Iterator[str]:
    """Iterate the texts within a value; what a property is called is not one."""
    if isinstance(value, list):
        for entry in value:
            yield from _texts(entry)
    elif isinstance(value, dict):
        for name, entry in value.items():
            if isinstance(entry, (dict, list)):
                yield from _texts(entry)
            elif name in _TEXT_FIELDS and entry is not None:
                yield str(entry)
            elif name == "title" and isinstance(entry, str):
                yield entry


def _page_text(page: Mapping[str, Any]) -> str:
    lines = property_lines(page.get("properties") or {})
    return "\n".join([object_title(page), *(f"{name}: {text}" for name, text in lines)])


def _comment_text(comment: Mapping[str, Any]) -> str:
    return "\n".join(comment_lines([comment], {}))


def _body_text(body: Mapping[str, Any]) -> str:
    return PageText(body["markdown"]).markdown()


_CONVERTERS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "page": _page_text,
    "database": object_title,
    "data_source": object_title,
    "block": block_markdown,
    "comment": _comment_text,
    "page_markdown": _body_text,
}


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))


if __name__ == "__main__":
    main()
