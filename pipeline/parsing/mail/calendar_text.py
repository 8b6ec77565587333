"""Calendar data (iCalendar, RFC 5545) as readable text: what, when, where, who."""

import re
from collections.abc import Iterator
from datetime import datetime
from itertools import islice

_MAX_EVENTS = 1000
_FOLD = re.compile(r"\r?\n[ \t]")
_ESCAPE = re.compile(r"\\([\\;,nN])")
_LINE = re.compile(r'(?P<name>[A-Za-z0-9.-]+)(?P<parameters>(?:;[^":;]*(?:"[^"]*"[^":;]*)*)*):(?P<value>.*)', re.DOTALL)
_COMMON_NAME = re.compile(r';CN=(?:"([^"]*)"|([^;:]*))', re.IGNORECASE)
_TIME_ZONE = re.compile(r';TZID="?([^";:]*)', re.IGNORECASE)
_COMPONENTS = frozenset({"VEVENT", "VTODO", "VJOURNAL"})
_METHODS = {"REQUEST": "Invitation", "CANCEL": "Cancelled", "REPLY": "Answer to an invitation"}
_LABELS = {
    "DTSTART": "Start",
    "DTEND": "End",
    "DUE": "Due",
    "DURATION": "Duration",
    "RRULE": "Repeats",
    "LOCATION": "Where",
    "STATUS": "Status",
    "URL": "Link",
}


def is_calendar(text: str) -> bool:
    return text[:200].lstrip("\ufeff \t\r\n").upper().startswith("BEGIN:VCALENDAR")


def calendar_title(text: str) -> str | None:
    """Return the name of a calendar, or what its only event is about."""
    lines = list(content_lines(text))
    named = [unescape(value) for name, _, value in lines if name in {"X-WR-CALNAME", "NAME"} and value]
    events = list(islice(_components(lines), 2))
    only = [unescape(value) for name, _, value in events[0] if name == "SUMMARY"] if len(events) == 1 else []
    return next(iter([*named, *only]), None)


def calendar_to_text(text: str) -> str:
    """Convert the events and tasks of a calendar to Markdown, "" if there are none."""
    lines = list(content_lines(text))
    method = next((value for name, _, value in lines if name == "METHOD"), "")
    sections = []
    for component in _components(lines):
        sections.append(_describe(component))
        if len(sections) >= _MAX_EVENTS:
            break
    note = [f"({_METHODS[method.upper()]})"] if method.upper() in _METHODS and sections else []
    return "\n\n".join([*note, *sections])


def content_lines(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield (name, parameters, value) of each line of calendar data or a contact."""
    for line in _FOLD.sub("", text).splitlines():
        if found := _LINE.match(line):
            yield found["name"].upper(), found["parameters"], found["value"].strip()


def _components(lines: list[tuple[str, str, str]]) -> Iterator[list[tuple[str, str, str]]]:
    """Yield the properties of each event or task, without those of its alarms."""
    found: list[tuple[str, str, str]] | None = None
    nested: list[str] = []
    for line in lines:
        name, _, value = line
        if name == "BEGIN":
            if value.upper() in _COMPONENTS and found is None:
                found = []
            elif found is not None:
                nested.append(value.upper())
        elif name == "END":
            if nested:
                nested.pop()
            elif found is not None:
                yield found
                found = None
        elif found is not None and not nested:
            found.append(line)
    if found:
        yield found


def _describe(properties: list[tuple[str, str, str]]) -> str:
    values = {name: (parameters, value) for name, parameters, value in reversed(properties)}
    lines = [f"### {unescape(values.get('SUMMARY', ('', ''))[1]) or '(no title)'}"]
    facts = [
        f"{label}: {_time(*values[name]) if name in {'DTSTART', 'DTEND', 'DUE'} else unescape(values[name][1])}"
        for name, label in _LABELS.items()
        if name in values and values[name][1]
    ]
    facts += [f"Organizer: {_person(*values['ORGANIZER'])}"] if "ORGANIZER" in values else []
    attendees = [_person(parameters, value) for name, parameters, value in properties if name == "ATTENDEE"]
    facts += [f"Attendees: {', '.join(attendees)}"] if attendees else []
    lines += ["  \n".join(facts)] if facts else []
    description = unescape(values.get("DESCRIPTION", ("", ""))[1])
    return "\n\n".join([*lines, description] if description else lines)


def _time(parameters: str, value: str) -> str:
    """Write a time readably, with its zone; a value of another form stays as it is."""
    zone = _TIME_ZONE.search(parameters)
    suffix = " UTC" if value.endswith("Z") else f" ({zone[1]})" if zone else ""
    for pattern, readable in (("%Y%m%dT%H%M%S", "%Y-%m-%d %H:%M"), ("%Y%m%d", "%Y-%m-%d")):
        try:
            return datetime.strptime(value.removesuffix("Z"), pattern).strftime(readable) + suffix  # noqa: DTZ007 - the zone is written beside it
        except ValueError:
            continue
    return value


def _person(parameters: str, value: str) -> str:
    name = _COMMON_NAME.search(parameters)
    address = re.sub(r"^mailto:", "", value, flags=re.IGNORECASE)
    known = (name[1] or name[2] or "").strip() if name else ""
    return f"{known} <{address}>" if known and known != address else address


def unescape(value: str) -> str:
    return _ESCAPE.sub(lambda found: "\n" if found[1] in "nN" else found[1], value).strip()
