"""Additions to the text of a PDF's pages: values of form fields, notes, and where links lead."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from pipeline.parsing.pdf_pages.page_text import fold

_MAX_LINKS: Final = 20
"""Of one page; pages that are printed from the web have hundreds."""
_PASSWORD: Final = 1 << 13
"""Flag of a field whose value is not shown (ISO 32000-1, table 228)."""
_UNCHECKED: Final = frozenset({"", "off", "false"})
_WEB: Final = ("http://", "https://", "mailto:")


def additions(fields: Iterable[Any], annotations: Iterable[Any], pages: Sequence[str]) -> Mapping[int, str]:
    """Return Markdown to add by page number; takes form fields and annotations as xberg returns them."""
    lines: dict[int, list[str]] = defaultdict(list)
    for field in fields:
        if line := _filled_in(field):
            lines[min(field.page or 1, len(pages))].append(line)
    links: dict[int, list[str]] = defaultdict(list)
    for annotation in annotations:
        content, number = (annotation.content or "").strip(), min(annotation.page_number, len(pages))
        if content.startswith(_WEB):
            links[number].append(content.removeprefix("mailto:"))
        elif content and fold(content) not in fold(pages[number - 1]):
            lines[number].append(f"Note by {annotation.author}: {content}" if annotation.author else f"Note: {content}")
    for number, addresses in links.items():
        lines[number] += [f"Links: {' '.join(new)}"] if (new := list(_new(addresses, pages[number - 1]))) else []
    return {number: "  \n".join(found) for number, found in lines.items()}


def _filled_in(field: Any) -> str | None:
    value = (field.value or "").strip()
    if value.lower() in _UNCHECKED or field.flags & _PASSWORD:
        return None
    return f"{(field.tooltip or field.full_name).strip()}: {'yes' if value.lower() == 'true' else value}"


def _new(addresses: Sequence[str], page: str) -> Iterator[str]:
    """Yield the addresses that the text of the page does not have itself, each once."""
    text = fold(page)
    return (address for address in list(dict.fromkeys(addresses))[:_MAX_LINKS] if fold(address) not in text)
