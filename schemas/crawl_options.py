"""Limits of a crawl to parts of a site, given in the fragment of its start URL, which no server ever sees.

`https://docs.example.com/guide/#scope=path&include=/guide/&exclude=/*/print`
"""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote, urlsplit

_NAMES = frozenset({"scope", "include", "exclude"})
_SCOPES = frozenset({"site", "path"})
_MAX_PATTERNS = 50
_KEPT_CHARACTERS = "/:@!$&'()*+,;=~-._?%"


@dataclass(frozen=True)
class CrawlOptions:
    """Parts of a site: a prefix of the path ("" for all), and patterns as in robots.txt.

    A pattern matches from the beginning of the path, with its query; `*` stands for any characters, `$` for the end.
    """

    path: str = ""
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def allows(self, url: str) -> bool:
        """Return whether a URL of the site lies in these parts."""
        parts = urlsplit(url)
        path = parts.path or "/"
        address = f"{path}?{parts.query}" if parts.query else path
        within = not self.path or path == self.path.rstrip("/") or path.startswith(self._folder)
        included = not self.include or any(_matches(pattern, address) for pattern in self.include)
        return within and included and not any(_matches(pattern, address) for pattern in self.exclude)

    @property
    def _folder(self) -> str:
        return self.path if self.path.endswith("/") else f"{self.path}/"


def parse_crawl_options(start_url: str) -> CrawlOptions:
    """Read the options of a start URL; ValueError says which one can't be right.

    A fragment without any of the names is the place in a page that a link leads to, and limits nothing.
    """
    parts = urlsplit(start_url)
    given = parse_qsl(parts.fragment, keep_blank_values=True)
    if not _NAMES & {name for name, _ in given}:
        return CrawlOptions()
    if unknown := sorted({name for name, _ in given} - _NAMES):
        raise ValueError(f"has an unknown option {unknown[0]!r} after #; there are scope, include and exclude")
    scopes = [value for name, value in given if name == "scope"]
    if len(scopes) > 1 or not set(scopes) <= _SCOPES:
        raise ValueError("has a scope after # that is neither site nor path")
    include, exclude = (
        _patterns(name, [value for key, value in given if key == name]) for name in ("include", "exclude")
    )
    return CrawlOptions(_scope_path(parts.path) if scopes == ["path"] else "", include, exclude)


def _patterns(name: str, values: Sequence[str]) -> tuple[str, ...]:
    found = tuple(pattern for value in values for pattern in value.split(",") if pattern)
    if wrong := next((pattern for pattern in found if not pattern.startswith(("/", "*"))), None):
        raise ValueError(f"has an {name} pattern {wrong!r} after # that begins neither with / nor with *")
    if len(found) > _MAX_PATTERNS:
        raise ValueError(f"has more than {_MAX_PATTERNS} {name} patterns after #")
    return found


def _scope_path(path: str) -> str:
    """Return the folder of a start page that is named like a file, else the page with all below it."""
    folder, _, name = path.rpartition("/")
    return f"{folder}/" if "." in name or not name else path


def _matches(pattern: str, address: str) -> bool:
    """Match in linear time, which a regular expression with several `*` does not."""
    first, *others = quote(pattern.removesuffix("$"), safe=_KEPT_CHARACTERS).split("*")
    is_anchored = pattern.endswith("$")
    if not address.startswith(first):
        return False
    if not others:
        return not is_anchored or address == first
    at = len(first)
    for piece in others[:-1]:
        found = address.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    if is_anchored:
        return address.endswith(others[-1]) and len(address) - len(others[-1]) >= at
    return address.find(others[-1], at) >= 0
