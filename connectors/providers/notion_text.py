"""Notion's enhanced Markdown as plain Markdown, its properties as lines, and the files it carries."""

import html
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote, urlsplit

_FENCE: Final = re.compile(r"^(\t*```.*?^\t*```[^\n]*$)", re.MULTILINE | re.DOTALL)
_ATTRIBUTE: Final = r'[^<>"]*(?:"[^"]*"[^<>"]*)*'
_LINK: Final = re.compile(
    rf"<(page|database|mention-page|mention-database|mention-data-source)\b({_ATTRIBUTE})>(.*?)</\1>",
    re.DOTALL,
)
_FILE: Final = re.compile(rf"<(file|pdf|audio|video)\b({_ATTRIBUTE})>(.*?)</\1>", re.DOTALL)
_DATE: Final = re.compile(rf"<mention-date\b({_ATTRIBUTE})/?>(?:</mention-date>)?")
_USER: Final = re.compile(rf"<mention-user\b{_ATTRIBUTE}>(.*?)</mention-user>", re.DOTALL)
_TABLE: Final = re.compile(rf"<table\b{_ATTRIBUTE}>(.*?)</table>", re.DOTALL)
_ROW: Final = re.compile(rf"<tr\b{_ATTRIBUTE}>(.*?)</tr>", re.DOTALL)
_CELL: Final = re.compile(rf"<td\b{_ATTRIBUTE}>(.*?)</td>", re.DOTALL)
_UNKNOWN: Final = re.compile(rf"<unknown\b({_ATTRIBUTE})/?>(?:</unknown>)?")
_OTHER: Final = re.compile(
    r"</?(?:callout|columns?|details|summary|synced_block(?:_reference)?|span|empty-block|table_of_contents|tabs?"
    rf"|meeting-notes|notes|transcript|colgroup|col|mention-[a-z-]+)\b{_ATTRIBUTE}/?>"
)
_COLOUR: Final = re.compile(r'[ \t]*\{(?:color|toggle|icon)="[^}\n]*\}(?=\s*$)', re.MULTILINE)
_SIGNED: Final = re.compile(r"(\((?:https?://[^()\s?]+))\?[^()\s]*X-Amz-[^()\s]*\)")


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that is kept in Notion; its address is signed and expires within the hour."""

    name: str
    address: str


@dataclass(frozen=True, slots=True)
class Text:
    """A page's text, the files within it and the pages that are linked as its children."""

    markdown: str
    attachments: tuple[Attachment, ...]
    children: tuple[str, ...]


def read(enhanced: str) -> Text:
    """Plain Markdown: tags become links, tables or nothing; code stays as it is."""
    attachments: list[Attachment] = []
    children: list[str] = []
    parts = []
    for number, part in enumerate(_FENCE.split(enhanced)):
        if number % 2:
            parts.append(part)
            continue
        attachments += _attached(part)
        children += [id_ for match in _LINK.finditer(part) if match[1] == "page" and (id_ := _id(match[2]))]
        parts.append(_plain(part))
    markdown = re.sub(r"\n{3,}", "\n\n", "".join(parts)).strip()
    return Text(markdown + "\n" if markdown else "", tuple(attachments), tuple(children))


def joined(enhanced: str, parts: Mapping[str, str]) -> str:
    """The Markdown of a page with that of the blocks it was too long for, each in its place."""
    left = dict(parts)

    def fill(match: re.Match[str]) -> str:
        id_ = _id(match[1])
        return left.pop(id_, match[0]) if id_ else match[0]

    filled = _UNKNOWN.sub(fill, enhanced)
    return "\n\n".join([filled, *left.values()])


def properties(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What a row of a data source says of itself, apart from its title."""
    for name, value in values.items():
        kind = value.get("type")
        shown = _SHOWN[kind](value[kind]) if kind in _SHOWN and value.get(kind) is not None else ""
        if shown:
            yield name, shown


def title(page: Mapping[str, Any]) -> str:
    """Of a page or a data source; "": it has none."""
    if isinstance(page.get("title"), list):
        return _rich(page["title"])
    found = [value for value in page.get("properties", {}).values() if value.get("type") == "title"]
    return _rich(found[0]["title"]) if found else ""


def uploaded(values: Mapping[str, Any]) -> list[Attachment]:
    """Files of the properties that are kept in Notion; what is kept elsewhere is only linked."""
    return [
        Attachment(file["name"], file["file"]["url"])
        for value in values.values()
        if value.get("type") == "files"
        for file in value["files"]
        if file.get("type") == "file"
    ]


def _plain(text: str) -> str:
    text = _TABLE.sub(lambda match: _table(match[1]), text)
    text = _LINK.sub(lambda match: f"[{match[3].strip() or 'Untitled'}]({_attribute(match[2], 'url')})", text)
    text = _FILE.sub(lambda match: _mentioned(match[2], match[3]), text)
    text = _DATE.sub(lambda match: _period(match[1]), text)
    text = _USER.sub(r"\1", text)
    text = _UNKNOWN.sub("", text)
    text = _OTHER.sub("", text)
    text = _COLOUR.sub("", text)
    text = _SIGNED.sub(r"\1)", text)
    return text.replace("<br>", "\n")


def _table(rows: str) -> str:
    """A pipe table; its first row is the head, as Markdown has no other."""
    cells = [
        [" ".join(cell.replace("|", "\\|").split()) for cell in _CELL.findall(row)]
        for row in _ROW.findall(rows)
    ]
    if not cells:
        return ""
    width = max(map(len, cells))
    lines = ["| " + " | ".join([*row, *[""] * (width - len(row))]) + " |" for row in cells]
    return "\n".join(["", lines[0], "|" + " --- |" * width, *lines[1:], ""])


def _mentioned(attributes: str, caption: str) -> str:
    name = _filename(_attribute(attributes, "src"))
    caption = caption.strip()
    return f"[{caption}: {name}]" if caption and caption != name else f"[{name}]"


def _attached(text: str) -> Iterator[Attachment]:
    for match in _FILE.finditer(text):
        address = _attribute(match[2], "src")
        if match[1] in {"file", "pdf"} and "X-Amz-" in address:
            yield Attachment(_filename(address), address)


def _filename(address: str) -> str:
    return unquote(urlsplit(address).path.rsplit("/", 1)[-1]) or "file"


def _period(attributes: str) -> str:
    begin, end = _attribute(attributes, "start"), _attribute(attributes, "end")
    return f"{begin} to {end}" if end else begin


def _attribute(attributes: str, name: str) -> str:
    found = re.search(rf'\b{name}="([^"]*)"', attributes)
    return html.unescape(found[1]).strip("{}") if found else ""


def _id(attributes: str) -> str | None:
    """The id at the end of a Notion address, with its dashes."""
    found = re.search(r"([0-9a-f]{32})(?:[?#&]|$)", _attribute(attributes, "url").replace("-", ""))
    block = re.search(r"#([0-9a-f]{32})", _attribute(attributes, "url").replace("-", ""))
    digits = (block or found or [None, None])[1]
    return dashed(digits) if digits else None


def dashed(digits: str) -> str:
    """An id as the API gives it, whether it came with dashes or without."""
    plain = digits.replace("-", "").lower()
    return "-".join([plain[:8], plain[8:12], plain[12:16], plain[16:20], plain[20:]])


def _rich(texts: list[dict[str, Any]]) -> str:
    return "".join(text["plain_text"] for text in texts).strip()


def _names(values: list[dict[str, Any]]) -> str:
    return ", ".join(name for value in values if (name := value.get("name")))


def _dates(value: Mapping[str, Any]) -> str:
    return f"{value['start']} to {value['end']}" if value.get("end") else str(value["start"])


def _computed(value: Mapping[str, Any]) -> str:
    result = value.get(value["type"])
    if isinstance(result, Mapping):
        return _dates(result) if "start" in result else ""
    return "" if result is None or isinstance(result, list) else str(result)


def _number(value: Mapping[str, Any]) -> str:
    prefix = value.get("prefix")
    return f"{prefix}-{value['number']}" if prefix else str(value["number"])


_SHOWN: Final[Mapping[str, Callable[[Any], str]]] = {
    "rich_text": _rich,
    "number": str,
    "select": lambda value: value["name"],
    "status": lambda value: value["name"],
    "multi_select": _names,
    "people": _names,
    "date": _dates,
    "checkbox": lambda value: "yes" if value else "no",
    "url": str,
    "email": str,
    "phone_number": str,
    "formula": _computed,
    "rollup": _computed,
    "unique_id": _number,
    "files": _names,
}
