"""Text of Notion pages: body, properties, attached files, comments, and blocks that its Markdown lacks."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from connectors.providers.notion.enhanced_markdown import (
    Element,
    Names,
    file_name,
    parse_enhanced_markdown,
    to_plain_markdown,
)

MAX_LISTED_VALUES: Final = 25
"""Values of a property that a page holds; further ones have to be fetched."""
_PEOPLE_KINDS: Final = frozenset({"people", "created_by", "last_edited_by"})
_PAGED_KINDS: Final = frozenset({"relation", "people", "rich_text", "title"})


@dataclass(frozen=True, slots=True)
class Attachment:
    """File stored in Notion; its signed URL expires within the hour."""

    name: str
    url: str


class PageText:
    """Parsed body of a page, with what it refers to."""

    def __init__(self, enhanced_markdown: str) -> None:
        self._root = parse_enhanced_markdown(enhanced_markdown)
        self._elements = list(self._root.descendants())

    def markdown(self, names: Names = Names()) -> str:  # noqa: B008 - an immutable value
        """Convert to plain Markdown: tags become links, names or tables, or are dropped; code is unchanged."""
        return to_plain_markdown(self._root, names)

    @property
    def attachments(self) -> list[Attachment]:
        """Files stored in Notion; external files remain links."""
        found = [element for element in self._elements if element.name in {"file", "pdf"}]
        return [Attachment(file_name(file.target), file.target) for file in found if "X-Amz-" in file.target]

    @property
    def children(self) -> list[str]:
        return self._ids("page")

    @property
    def databases(self) -> list[str]:
        return self._ids("database")

    @property
    def unnamed_pages(self) -> list[str]:
        """Ids of pages that are mentioned without their title."""
        return self._ids("page", "mention-page", unnamed=True)

    @property
    def unnamed_users(self) -> list[str]:
        """Ids of users that are mentioned without their name."""
        return self._ids("mention-user", unnamed=True)

    def _ids(self, *names: str, unnamed: bool = False) -> list[str]:
        found = [
            element for element in self._elements if element.name in names and not (unnamed and _has_text(element))
        ]
        return list(dict.fromkeys(id_ for element in found if (id_ := element.target_id)))


def _has_text(element: Element) -> bool:
    return any(not isinstance(child, str) or child.strip() for child in element.children)


def block_markdown(block: Mapping[str, Any]) -> str:
    """Return the text and address of a block that the Markdown of its page names only."""
    value = block.get(str(block.get("type"))) or {}
    stored = value.get("external") or value.get("file") or {}
    url = value.get("url") or stored.get("url") or ""
    text = rich_text(value.get("caption") or value.get("rich_text") or []) or value.get("title") or ""
    return f"[{text or url}]({url})" if url else str(text)


def property_lines(values: Mapping[str, Any], names: Names = Names()) -> Iterator[tuple[str, str]]:  # noqa: B008 - as above
    """Yield (name, text) of the properties of a data source's row, without its title."""
    for name, value in values.items():
        if value.get("type") != "title" and (shown := _property_text(value, names)):
            yield name, shown


def related_pages(values: Mapping[str, Any]) -> list[str]:
    waiting = list(values.values())
    found: list[str] = []
    for value in waiting:
        if value.get("type") == "relation":
            found += [each["id"] for each in value.get("relation") or [] if "id" in each]
        elif value.get("type") == "rollup":
            waiting += (value.get("rollup") or {}).get("array") or []
    return list(dict.fromkeys(found))


def unnamed_people(values: Mapping[str, Any]) -> set[str]:
    """Return the ids of users in properties that Notion gives without their name, also in rollups."""
    waiting = list(values.values())
    found: set[str] = set()
    for value in waiting:
        kind = value.get("type")
        if kind in _PEOPLE_KINDS:
            listed = [value[kind]] if isinstance(value.get(kind), Mapping) else value.get(kind) or []
            found |= {person["id"] for person in listed if not person.get("name") and person.get("id")}
        elif kind == "rollup":
            waiting += (value.get("rollup") or {}).get("array") or []
    return found


def truncated_properties(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (name, id) of the properties that may have more values than the page holds."""
    for name, value in values.items():
        kind = str(value.get("type"))
        listed = value.get(kind) or ()
        if kind == "rollup":
            listed = listed.get("array") or () if isinstance(listed, Mapping) else ()
        elif kind not in _PAGED_KINDS:
            continue
        if value.get("id") and (value.get("has_more") or len(listed) >= MAX_LISTED_VALUES):
            yield name, value["id"]


def merged_property(value: Mapping[str, Any], items: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    kind = value["type"]
    if kind == "rollup":
        return {**value, "rollup": {"type": "array", "array": list(items)}}
    return {**value, "has_more": False, kind: [item[kind] for item in items if kind in item]}


def object_title(page: Mapping[str, Any]) -> str:
    """Return the title of a page or data source, "" if it has none."""
    if isinstance(page.get("title"), list):
        return rich_text(page["title"])
    values = (page.get("properties") or {}).values()
    found = [value for value in values if isinstance(value, Mapping) and value.get("type") == "title"]
    return rich_text(found[0].get("title")) if found else ""


def uploaded_files(values: Mapping[str, Any]) -> list[Attachment]:
    """Return files stored in Notion among the properties; external files remain links."""
    return [
        Attachment(file.get("name") or file_name(file["file"]["url"]), file["file"]["url"])
        for value in values.values()
        if value.get("type") == "files"
        for file in value.get("files") or ()
        if file.get("type") == "file"
    ]


def comment_lines(comments: Sequence[Mapping[str, Any]], users: Mapping[str, str]) -> list[str]:
    """Return comments as list items with their authors."""
    lines = []
    for comment in comments:
        author = (comment.get("display_name") or {}).get("resolved_name") or users.get(author_id(comment) or "")
        text = rich_text(comment.get("rich_text")).replace("\n", "\n  ")
        if text:
            lines.append(f"- {author}: {text}" if author else f"- {text}")
    return lines


def author_id(entry: Mapping[str, Any]) -> str | None:
    """Return the id of the user who created a page or comment."""
    id_: str | None = (entry.get("created_by") or {}).get("id")
    return id_


def rich_text(texts: Sequence[Mapping[str, Any]] | Mapping[str, Any] | None) -> str:
    parts = [texts] if isinstance(texts, Mapping) else texts or ()
    return "".join(part.get("plain_text") or "" for part in parts).strip()


def _property_text(value: Mapping[str, Any], names: Names) -> str:
    kind = value.get("type")
    if kind is None or value.get(kind) is None:
        return ""
    if kind == "relation":
        related = [names.pages.get(each.get("id", "")) or "Untitled" for each in value[kind]]
        return ", ".join(related)
    if kind == "rollup":
        return _rollup(value[kind], names)
    if kind in _PEOPLE_KINDS:
        people = [value[kind]] if isinstance(value[kind], Mapping) else value[kind]
        shown = [person.get("name") or names.users.get(person.get("id", "")) for person in people]
        return ", ".join(name for name in shown if name)
    return _PROPERTY_FORMATTERS[kind](value[kind]) if kind in _PROPERTY_FORMATTERS else ""


def _rollup(value: Mapping[str, Any], names: Names) -> str:
    if value.get("type") != "array":
        return _computed_value(value)
    shown = [rich_text(item["title"]) if item.get("type") == "title" else _property_text(item, names)
             for item in value.get("array") or ()]  # fmt: skip
    return ", ".join(text for text in shown if text)


def _joined_names(values: Sequence[Mapping[str, Any]] | Mapping[str, Any]) -> str:
    listed = [values] if isinstance(values, Mapping) else values
    return ", ".join(name for value in listed if (name := value.get("name")))


def _date_property(value: Mapping[str, Any]) -> str:
    begin, end = value.get("start") or "", value.get("end")
    return f"{begin} to {end}" if end else str(begin)


def _computed_value(value: Mapping[str, Any]) -> str:
    result = value.get(str(value.get("type")))
    if isinstance(result, Mapping):
        return _date_property(result) if "start" in result else ""
    if isinstance(result, bool):
        return _yes_or_no(result)
    return "" if result is None or isinstance(result, list) else str(result)


def _yes_or_no(value: object) -> str:
    return "yes" if value else "no"


def _unique_id(value: Mapping[str, Any]) -> str:
    prefix, number = value.get("prefix"), value.get("number")
    return "" if number is None else f"{prefix}-{number}" if prefix else str(number)


def _place(value: Mapping[str, Any]) -> str:
    named = [str(value[key]) for key in ("name", "address") if value.get(key)]
    return ", ".join(dict.fromkeys(named)) or f"{value.get('lat')}, {value.get('lon')}"


_PROPERTY_FORMATTERS: Final[Mapping[str, Callable[[Any], str]]] = {
    "rich_text": rich_text,
    "number": str,
    "select": _joined_names,
    "status": _joined_names,
    "multi_select": _joined_names,
    "created_time": str,
    "last_edited_time": str,
    "date": _date_property,
    "checkbox": _yes_or_no,
    "url": str,
    "email": str,
    "phone_number": str,
    "formula": _computed_value,
    "unique_id": _unique_id,
    "place": _place,
    "verification": lambda value: str(value.get("state") or ""),
    "files": _joined_names,
}
