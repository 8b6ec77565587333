"""Report of an import: what it did and what it left out, for people and for programs."""

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from app.cli.conventions import pluralize, say
from app.importers.imported_item import LeftOut

EXAMPLES_SHOWN = 3
_REASONS_SHOWN = 20


class LeftOutLogError(Exception):
    """The file of what is left out can't be written; the message is for people."""


class LeftOutLog:
    """File with a JSON line on each item that is left out, written at once. OSError if it can't be opened."""

    def __init__(self, file: Path) -> None:
        self._file = file.open("wb", buffering=0)

    def add(self, item: LeftOut) -> None:
        line = json.dumps({"item": item.item, "reason": item.reason}) + "\n"
        try:
            self._file.write(line.encode())
        except OSError as error:
            raise LeftOutLogError(str(error)) from error

    def close(self) -> None:
        self._file.close()


class ImportReport:
    """Counts of an import; each item that is left out also goes to `log`, if there is one."""

    def __init__(self, log: LeftOutLog | None = None) -> None:
        self._log = log
        self._left_out: Counter[str] = Counter()
        self._examples: defaultdict[str, list[str]] = defaultdict(list)
        self.read = 0
        self.imported = 0
        self.updated = 0
        self.unchanged = 0
        self.namespaces: Counter[str] = Counter()

    def leave_out(self, item: LeftOut) -> None:
        self._left_out[item.reason] += 1
        if len(self._examples[item.reason]) < EXAMPLES_SHOWN:
            self._examples[item.reason].append(item.item)
        if self._log is not None:
            self._log.add(item)

    @property
    def left_out(self) -> int:
        """Items, and parts of items, that are not imported."""
        return self._left_out.total()

    def to_json(self) -> dict[str, Any]:
        reasons = [
            {"reason": reason, "count": count, "examples": self._examples[reason]}
            for reason, count in self._left_out.most_common()
        ]
        return {
            "imported": self.imported,
            "updated": self.updated,
            "unchanged": self.unchanged,
            "leftOut": self.left_out,
            "reasons": reasons,
            "namespaces": dict(self.namespaces),
        }

    def print(self) -> None:
        places = ", ".join(sorted(self.namespaces)[:EXAMPLES_SHOWN])
        more = len(self.namespaces) - EXAMPLES_SHOWN
        into = f" into {places}{f' and {more:,} more' if more > 0 else ''}" if places else ""
        say(f"{pluralize(self.imported, 'document')} imported{into}.", err=True)
        for count, text in ((self.updated, "changed in the source and updated"), (self.unchanged, "sent before")):
            if count:
                say(f"{count:,} {text}.", err=True)
        if not self.left_out:
            return
        say(f"{self.left_out:,} left out:", err=True)
        for reason, count in self._left_out.most_common(_REASONS_SHOWN):
            examples = "; ".join(self._examples[reason])
            say(f"  {count:>7,}  {reason}  ({examples}{'; …' if count > EXAMPLES_SHOWN else ''})", err=True)
        if (hidden := len(self._left_out) - _REASONS_SHOWN) > 0:
            say(f"  and {pluralize(hidden, 'other reason')}: --left-out FILE lists all.", err=True)
