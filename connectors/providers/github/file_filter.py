"""Selection of files: documentation, and what a connector's options add or leave out."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

DOCUMENT_SUFFIXES: Final = frozenset({".md", ".mdx", ".markdown", ".txt", ".rst", ".adoc", ".org"})


@dataclass(frozen=True, slots=True)
class FileFilter:
    """Branch to read instead of the default branch, and patterns of paths.

    `*` stands for any part of a name, `**` for any folders; a pattern without a slash means a name in any folder.
    A pattern that begins with `!` leaves files out, documentation too.
    """

    branch: str | None = None
    included: tuple[re.Pattern[str], ...] = ()
    excluded: tuple[re.Pattern[str], ...] = ()

    @classmethod
    def from_config(cls, config: Mapping[str, str | float | bool]) -> "FileFilter":
        patterns = [text.strip() for text in str(config.get("paths") or "").split(",") if text.strip()]
        return cls(
            str(config.get("branch") or "") or None,
            tuple(_compile(text) for text in patterns if not text.startswith("!")),
            tuple(_compile(text[1:]) for text in patterns if text.startswith("!")),
        )

    def selects(self, path: str) -> bool:
        if any(pattern.fullmatch(path) for pattern in self.excluded):
            return False
        return is_documentation(path) or any(pattern.fullmatch(path) for pattern in self.included)


def is_documentation(path: str) -> bool:
    return PurePosixPath(path).suffix.lower() in DOCUMENT_SUFFIXES


def _compile(pattern: str) -> re.Pattern[str]:
    text = pattern.strip("/") if "/" in pattern.rstrip("/") else f"**/{pattern.strip('/')}"
    if pattern.endswith("/"):
        text += "/**"
    parts = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(parts.get(token) or re.escape(token) for token in re.split(r"(\*\*/|\*\*|\*|\?)", text)))
