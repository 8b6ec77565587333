"""Parser of Notion's enhanced Markdown: a tree of its tags, and its conversion to plain Markdown.

One pass over the lines, one over the characters of each line: linear in the length of the page. Tags that Notion
does not define, and everything in code, stay as they are. A tag without its end holds nothing: the text after it
stays in place. https://developers.notion.com/guides/data-apis/enhanced-markdown
"""

import html
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote, urlsplit

_ATTRIBUTES: Final = r'[^<>"\n]*(?:"[^"\n]*"[^<>"\n]*)*'
_TOKEN: Final = re.compile(rf"\\(.)|(`+)|<(/?)([a-z][a-z0-9_-]*)(?![a-z0-9_-])({_ATTRIBUTES})>")
_MARKUP: Final = re.compile(r"[\\`<]")
_ATTRIBUTE: Final = re.compile(r'([\w-]+)="([^"]*)"')
_LIST_ITEM: Final = re.compile(r"(?:[-*+]|\d{1,9}[.)])(?:\s|$)")
_BLOCK_ATTRIBUTES: Final = re.compile(r'\{(?:(?:color|toggle|icon|underline)="[^"{}]*" ?)+\}')
_DIV: Final = re.compile(r":{3,}\s+[a-z][\w-]*(?:\s+\{[^{}]*\})?\s*")
_DIV_END: Final = re.compile(r":{3,}\s*")
"""Lines around a callout in the other form of this Markdown (Pandoc's fenced divisions)."""
_LINK_TARGET: Final = re.compile(r"\]\((https?://[^()\s]*)\)")
_NEEDLESS_ESCAPES: Final = frozenset("${}^|")
"""Characters that Notion escapes, and that mean nothing in plain Markdown."""
_LINKS: Final = frozenset({"page", "database", "mention-page", "mention-database", "mention-data-source"})
_FILES: Final = frozenset({"file", "pdf", "audio", "video", "image", "img"})
_NAMES: Final = frozenset({"mention-user", "mention-agent"})
_EMPTY: Final = frozenset({"br", "empty-block", "table_of_contents", "col", "mention-date", "unknown", "image", "img"})
_CONTAINERS: Final = frozenset(
    {"callout", "columns", "column", "details", "summary", "synced_block", "synced_block_reference", "span", "tabs"}
    | {"tab", "meeting-notes", "notes", "transcript", "colgroup", "p", "quote", "toggle", "u", "heading"}
)
_KNOWN: Final = _LINKS | _FILES | _NAMES | _EMPTY | _CONTAINERS | {"table", "tr", "td", "th"}
_MAX_DEPTH: Final = 50
"""Depth below which tags are dropped and their text is kept."""


class _Code(str):
    """Text of a code block, which stays as it is."""

    __slots__ = ()


@dataclass(slots=True)
class Element:
    """Tag with what stands between its begin and end."""

    name: str
    attributes: Mapping[str, str]
    children: "list[Element | str]" = field(default_factory=list)

    def descendants(self) -> "Iterator[Element]":
        """Iterate over all elements within this one, in their order."""
        for child in self.children:
            if isinstance(child, Element):
                yield child
                yield from child.descendants()

    @property
    def target(self) -> str:
        """URL of what the tag names."""
        return next(
            (self.attributes[key].strip("{}") for key in ("url", "src", "source") if key in self.attributes), ""
        )

    @property
    def target_id(self) -> str | None:
        """Id of the page, database, block or user that the tag names, with dashes."""
        return linked_id(self.target)


@dataclass(frozen=True, slots=True)
class Names:
    """Names by id of pages, databases and users that a page mentions by id alone."""

    pages: Mapping[str, str] = field(default_factory=dict)
    users: Mapping[str, str] = field(default_factory=dict)


def parse_enhanced_markdown(text: str) -> Element:
    tree = _TreeBuilder()
    for is_code, line in _without_foreign_indentation(text):
        if is_code:
            tree.add_text(_Code(line))
        elif not _MARKUP.search(line):
            tree.add_text(line)
        else:
            _tokenize(line, tree)
    return tree.finish()


def to_plain_markdown(root: Element, names: Names) -> str:
    pieces: list[str] = []
    _render_children(root, names, pieces)
    parts: list[str] = []
    text: list[str] = []
    for piece in [*pieces, _Code()]:
        if isinstance(piece, _Code):
            parts += [_without_blank_runs("".join(text)), piece]
            text = []
        else:
            text.append(piece)
    markdown = "".join(parts).strip()
    return markdown + "\n" if markdown else ""


def linked_id(url: str) -> str | None:
    """Return the id at the end of a Notion URL, that of its block if it names one, with dashes."""
    plain = url.replace("-", "")
    found = re.search(r"#([0-9a-f]{32})", plain) or re.search(r"([0-9a-f]{32})(?:[?#&]|$)", plain)
    return dashed_id(found[1]) if found else None


def dashed_id(digits: str) -> str:
    plain = digits.replace("-", "").lower()
    return "-".join([plain[:8], plain[8:12], plain[12:16], plain[16:20], plain[20:]])


def unknown_blocks(text: str) -> dict[str, str]:
    """Return ids and kinds of the blocks that the Markdown names without their content."""
    elements = parse_enhanced_markdown(text).descendants() if "<unknown" in text else iter(())
    return {
        id_: element.attributes.get("alt", "")
        for element in elements
        if element.name == "unknown" and (id_ := element.target_id)
    }


def insert_blocks(text: str, parts: Mapping[str, str]) -> str:
    """Insert separately fetched blocks in place of their tags, at the depth of these; others come last."""
    if not parts:
        return text
    left = dict(parts)
    lines: list[str] = []
    for line in text.split("\n"):
        match = _TOKEN.match(line.strip()) if "<unknown" in line else None
        id_ = linked_id(_attributes_of(match[5]).get("url", "")) if match and match[4] == "unknown" else None
        part = left.pop(id_, None) if id_ else None
        tabs = line[: len(line) - len(line.lstrip("\t"))]
        lines += [line] if part is None else [tabs + inner for inner in part.split("\n")]
    return "\n\n".join(["\n".join(lines), *left.values()])


def file_name(url: str) -> str:
    return unquote(urlsplit(url).path.rsplit("/", 1)[-1]) or "file"


@dataclass(frozen=True, slots=True)
class _Line:
    """Line that further lines may be children of: its depth in tabs, and its indentation in plain Markdown."""

    depth: int
    indentation: str
    is_list_item: bool


def _without_foreign_indentation(text: str) -> Iterator[tuple[bool, str]]:
    """Yield (is code, line), indented below list items only: elsewhere indented text would be code in Markdown."""
    above: list[_Line] = []
    fence: str | None = None
    divisions = 0
    for line in text.split("\n"):
        body = line.lstrip("\t")
        depth = len(line) - len(body)
        if fence is not None:
            yield True, above[-1].indentation + line[min(depth, above[-1].depth) :] + "\n"
            closes = body.startswith(fence) and not body.strip().strip("`")
            fence = None if closes else fence
            continue
        opens, ends = _DIV.fullmatch(body) is not None, divisions > 0 and _DIV_END.fullmatch(body) is not None
        divisions += opens - ends
        if opens or ends or not body.strip():
            yield False, "\n"
            continue
        while above and above[-1].depth >= depth:
            above.pop()
        indentation = above[-1].indentation + "\t" * above[-1].is_list_item if above else ""
        above.append(_Line(depth, indentation, _LIST_ITEM.match(body) is not None))
        if body.startswith("```"):
            fence = "`" * (len(body) - len(body.lstrip("`")))
            yield True, f"{indentation}{body}\n"
        else:
            yield False, f"{indentation}{_without_block_attributes(body)}\n"


def _without_block_attributes(line: str) -> str:
    """Remove `{color="…"}` from the end of a line, and signatures from the addresses of pictures."""
    if line.endswith("}"):
        begin = line.rfind("{")
        if begin >= 0 and _BLOCK_ATTRIBUTES.fullmatch(line, begin):
            line = line[:begin].rstrip()
    return _LINK_TARGET.sub(_without_signature, line) if "X-Amz-" in line else line


def _without_signature(match: re.Match[str]) -> str:
    return f"]({match[1].partition('?')[0]})" if "X-Amz-" in match[1] else match[0]


class _TreeBuilder:
    """Open elements, innermost last."""

    def __init__(self) -> None:
        self._open = [Element("", {})]
        self._open_names: dict[str, int] = {}

    def add_text(self, text: str) -> None:
        if text:
            self._open[-1].children.append(text)

    def add(self, element: Element, *, closed: bool) -> None:
        if len(self._open) > _MAX_DEPTH and not closed:
            return
        self._open[-1].children.append(element)
        if not closed:
            self._open.append(element)
            self._open_names[element.name] = self._open_names.get(element.name, 0) + 1

    def close(self, name: str) -> None:
        """Close an element; one that is open inside it has no end and holds nothing."""
        if self._open_names.get(name):
            while self._open[-1].name != name:
                self._empty_innermost()
            self._pop()

    def finish(self) -> Element:
        while len(self._open) > 1:
            self._empty_innermost()
        return self._open[0]

    def _empty_innermost(self) -> None:
        element = self._pop()
        self._open[-1].children += element.children
        element.children = []

    def _pop(self) -> Element:
        element = self._open.pop()
        self._open_names[element.name] -= 1
        return element


def _tokenize(line: str, tree: _TreeBuilder) -> None:
    at = 0
    code: _InlineCode | None = None
    while (match := _TOKEN.search(line, at)) is not None:
        tree.add_text(line[at : match.start()])
        at = match.end()
        if match[1]:
            tree.add_text(match[1] if match[1] in _NEEDLESS_ESCAPES else match[0])
        elif match[2]:
            code = code or _InlineCode(line)
            at = code.end(at, len(match[2]))
            tree.add_text(line[match.start() : at])
        elif match[4] == "br":
            tree.add_text("\n")
        elif match[4] not in _KNOWN:
            tree.add_text(match[0])
        elif match[3]:
            tree.close(match[4])
        else:
            closed = match[4] in _EMPTY or match[5].rstrip().endswith("/")
            tree.add(Element(match[4], _attributes_of(match[5])), closed=closed)
    tree.add_text(line[at:])


class _InlineCode:
    """Runs of backticks in a line, by their length."""

    def __init__(self, line: str) -> None:
        self._begins: dict[int, list[int]] = {}
        for run in re.finditer("`+", line):
            self._begins.setdefault(len(run[0]), []).append(run.start())

    def end(self, at: int, backticks: int) -> int:
        """Return where the code ends that begins before `at` with so many backticks; `at` if nowhere."""
        begins = self._begins.get(backticks, [])
        following = bisect_left(begins, at)
        return begins[following] + backticks if following < len(begins) else at


def _attributes_of(text: str) -> dict[str, str]:
    return {name: html.unescape(value) for name, value in _ATTRIBUTE.findall(text)}


def _render_children(element: Element, names: Names, pieces: list[str]) -> None:
    for child in element.children:
        if isinstance(child, str):
            pieces.append(child)
        elif child.name in _CONTAINERS:
            _render_children(child, names, pieces)
        elif child.name == "table":
            pieces.append(_table(child, names))
        else:
            pieces.append(_render_inline(child, names))


def _content(element: Element, names: Names) -> str:
    pieces: list[str] = []
    _render_children(element, names, pieces)
    return "".join(pieces).strip()


def _render_inline(element: Element, names: Names) -> str:
    content = _content(element, names)
    if element.name in _LINKS:
        return f"[{content or names.pages.get(element.target_id or '') or 'Untitled'}]({element.target})"
    if element.name in _NAMES:
        return content or names.users.get(element.target_id or "") or "somebody"
    if element.name in _FILES:
        name = file_name(element.target)
        return f"[{content}: {name}]" if content and content != name else f"[{name}]"
    if element.name == "mention-date":
        return _date_range(element.attributes)
    return content


def _date_range(attributes: Mapping[str, str]) -> str:
    begin, end = (
        " ".join(value for key in (f"{edge}", f"{edge}Time") if (value := attributes.get(key)))
        for edge in ("start", "end")
    )
    zone = attributes.get("timeZone", "")
    return " ".join(part for part in (begin, f"to {end}" if end else "", f"({zone})" if zone else "") if part)


def _table(table: Element, names: Names) -> str:
    """Render a pipe table whose first row is the header, after whatever stands in it outside of rows."""
    rows = [_row(row, names) for row in table.children if isinstance(row, Element) and row.name == "tr"]
    rows = [row for row in rows if row]
    around = Element("", {}, [child for child in table.children if isinstance(child, str) or child.name != "tr"])
    width = max(map(len, rows), default=0)
    lines = ["| " + " | ".join([*row, *[""] * (width - len(row))]) + " |" for row in rows]
    return "\n".join([_content(around, names), *lines[:1], *(["|" + " --- |" * width] if rows else []), *lines[1:], ""])


def _row(row: Element, names: Names) -> list[str]:
    """Return the text of a row's cells; text between them is a cell of its own."""
    cells = [child if isinstance(child, Element) else Element("td", {}, [child]) for child in row.children]
    texts = [(child, " ".join(_content(child, names).replace("|", "\\|").split())) for child in cells]
    given = {id(child) for child in row.children}
    return [text for child, text in texts if text or id(child) in given]


def _without_blank_runs(text: str) -> str:
    return re.sub(r"\n{3,}", "\n\n", re.sub(r"^[ \t]+$", "", text, flags=re.MULTILINE))
