"""Contacts (vCard: RFC 6350 and its earlier versions) as readable text: who, where, how to reach them."""

import quopri
import re
from collections.abc import Iterator, Sequence

from pipeline.parsing.charset_detection import known_codec
from pipeline.parsing.mail.calendar_text import content_lines, unescape

_LABELS = {
    "NICKNAME": "Nickname",
    "ORG": "Organization",
    "TITLE": "Title",
    "ROLE": "Role",
    "TEL": "Phone",
    "EMAIL": "E-mail",
    "IMPP": "Chat",
    "ADR": "Address",
    "URL": "Link",
    "BDAY": "Birthday",
    "ANNIVERSARY": "Anniversary",
    "RELATED": "Related",
    "X-ABRELATEDNAMES": "Related",
    "X-ABDATE": "Date",
    "CATEGORIES": "Categories",
}
"""Properties that people read; pictures, keys and marks of programs are left out."""
_STRUCTURED = frozenset({"N", "ORG", "ADR"})
_BROKEN_LINES = re.compile(r"^[^:\n]*QUOTED-PRINTABLE[^:\n]*:(?:[^\n]*=\r?\n)*[^\n]*", re.IGNORECASE | re.MULTILINE)
_SOFT_BREAK = re.compile(r"=\r?\n[ \t]*")
_CHARSET = re.compile(r";CHARSET=\"?([\w.-]+)", re.IGNORECASE)
_PARAMETER = re.compile(r';(?:TYPE=)?("[^"]*"|[^;=:"]+)(?=[;:]|$)', re.IGNORECASE)
_PART = re.compile(r"(?<!\\);")
_APPLE_LABEL = re.compile(r"^_\$!<(.*)>!\$_$")
_URI = re.compile(r"^(?:tel|mailto):", re.IGNORECASE)
_MARKS_OF_PROGRAMS = frozenset({"internet", "pref", "voice", "quoted-printable", "base64", "b", "uri", "text"})
Line = tuple[str, str, str]


def is_contact(text: str) -> bool:
    return text[:200].lstrip("\ufeff \t\r\n").upper().startswith("BEGIN:VCARD")


def contacts_to_text(text: str) -> tuple[str | None, str]:
    """Return the name of the only contact, and the contacts as Markdown, "" if there are none."""
    joined = _BROKEN_LINES.sub(lambda found: _SOFT_BREAK.sub("", found[0]), text)
    contacts = [(_name(lines), lines) for lines in _contacts(joined)]
    sections = [_describe(name, lines) for name, lines in contacts]
    return contacts[0][0] if len(contacts) == 1 else None, "\n\n".join(sections)


def _contacts(text: str) -> Iterator[list[Line]]:
    found: list[Line] | None = None
    for name, parameters, value in content_lines(text):
        if name in {"BEGIN", "END"} and value.upper() == "VCARD":
            if found:
                yield found
            found = [] if name == "BEGIN" else None
        elif found is not None:
            found.append((name, parameters, _decoded(parameters, value)))
    if found:
        yield found


def _decoded(parameters: str, value: str) -> str:
    """Decode a value as version 2.1 writes what is not ASCII."""
    if "QUOTED-PRINTABLE" not in parameters.upper():
        return value
    charset = _CHARSET.search(parameters)
    codec = known_codec(charset[1]) if charset else None
    return quopri.decodestring(value.encode("latin-1", "replace")).decode(codec or "utf-8", errors="replace").strip()


def _name(lines: Sequence[Line]) -> str:
    values = {name.rpartition(".")[2]: value for name, _, value in reversed(lines)}
    if full := unescape(values.get("FN", "")):
        return full
    family, given, middle, prefix, suffix = ([*_parts(values.get("N", "")), *[""] * 5])[:5]
    return (
        " ".join(filter(None, (prefix, given, middle, family, suffix)))
        or unescape(values.get("ORG", ""))
        or "(no name)"
    )


def _describe(name: str, lines: Sequence[Line]) -> str:
    labels = {
        key.rpartition(".")[0]: _APPLE_LABEL.sub(r"\1", value) for key, _, value in lines if key.endswith(".X-ABLABEL")
    }
    facts, notes = [], []
    for key, parameters, value in lines:
        group, _, kind = key.rpartition(".")
        if kind == "NOTE":
            notes.append(unescape(value))
        elif kind in _LABELS and (shown := _value(kind, value)):
            sorts = [labels[group]] if labels.get(group) else _sorts(parameters)
            facts.append(f"{' '.join([_LABELS[kind], *([f'({sort})' for sort in sorts])])}: {shown}")
    return "\n\n".join(filter(None, [f"### {name}", "  \n".join(facts), *notes]))


def _value(kind: str, value: str) -> str:
    return ", ".join(filter(None, _parts(value))) if kind in _STRUCTURED else _URI.sub("", unescape(value))


def _parts(value: str) -> list[str]:
    return [" ".join(unescape(part).split()) for part in _PART.split(value)]


def _sorts(parameters: str) -> list[str]:
    """Return what a number or address is for: cell, work, home."""
    named = (word.strip().lower() for found in _PARAMETER.findall(parameters) for word in found.strip('"').split(","))
    return [word for word in dict.fromkeys(named) if word not in _MARKS_OF_PROGRAMS]
