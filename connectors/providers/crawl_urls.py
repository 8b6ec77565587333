"""Addresses of a site: one way to write each, which belong to it, and which lead astray. Pure."""

import posixpath
import re
from urllib.parse import parse_qsl, quote, unquote, urlencode, urljoin, urlsplit, urlunsplit

_LONGEST = 1500
_DEEPEST = 16
_PARAMETERS = 8
_REPEATED = 2
# What says who came from where, or who it is, and nothing of the page.
_TRACKING = re.compile(
    r"(?:utm_\w+|fbclid|gclid|dclid|msclkid|mc_[ce]id|igshid|_ga|_gl|ref_src|"
    r"phpsessid|jsessionid|sid|sessionid)",
    re.IGNORECASE,
)
_SESSION = re.compile(r";jsessionid=[^/?#]*", re.IGNORECASE)
_FILES = frozenset(
    re.findall(
        r"\w+",
        "7z avi bmp bz2 css csv dmg doc docx eot epub exe gif gz ico ics iso jar jpeg jpg js json "
        "m4a m4v mjs mov mp3 mp4 mpeg mpg msi odt ogg ogv otf png ppt pptx rar rpm rss svg swf "
        "tar tgz tif tiff ttf wav webm webp wmv woff woff2 xls xlsx xml zip ",
    )
)


def normal(url: str, base: str | None = None) -> str | None:
    """The address as it is written here, without fragment and tracking; None for what is no web address."""
    try:
        parts = urlsplit(urljoin(base, url.strip()) if base else url.strip())
        port = parts.port
    except ValueError:
        return None
    if parts.scheme.lower() not in {"http", "https"} or not parts.hostname:
        return None
    host = parts.hostname.lower().rstrip(".")
    host = f"[{host}]" if ":" in host else host
    if port is not None and port != {"http": 80, "https": 443}[parts.scheme.lower()]:
        host = f"{host}:{port}"
    query = [(name, value) for name, value in parse_qsl(parts.query, keep_blank_values=True)]
    kept = [(name, value) for name, value in query if not _TRACKING.fullmatch(name)]
    return urlunsplit((parts.scheme.lower(), host, _path(parts.path), urlencode(kept), ""))


def site(url: str) -> str:
    """What two addresses of one site have in common: host and port, with or without `www.` and TLS."""
    parts = urlsplit(url)
    host = (parts.hostname or "").removeprefix("www.")
    return host if parts.port is None else f"{host}:{parts.port}"


def astray(url: str) -> bool:
    """Whether an address looks like one of endlessly many: a calendar, a session, a link to itself."""
    parts = urlsplit(url)
    segments = [segment for segment in parts.path.split("/") if segment]
    return (
        len(url) > _LONGEST
        or len(segments) > _DEEPEST
        or len(parse_qsl(parts.query)) > _PARAMETERS
        or any(segments.count(segment) > _REPEATED for segment in set(segments))
    )


def worth_asking(url: str) -> bool:
    """Whether an address may be a page, as far as its ending tells."""
    name = posixpath.basename(urlsplit(url).path).lower()
    return "." not in name or name.rpartition(".")[2] not in _FILES


def _path(path: str) -> str:
    path = _SESSION.sub("", path) or "/"
    clean = posixpath.normpath(
        quote(unquote(path, errors="surrogateescape"), safe="/:@!$&'()*+,;=~-._", errors="surrogateescape")
    )
    clean = "/" + clean.lstrip("/.")
    return f"{clean}/" if path.endswith(("/", "/.", "/..")) and clean != "/" else clean
