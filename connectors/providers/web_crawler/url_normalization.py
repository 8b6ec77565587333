"""URLs of a site: normalization, membership, and detection of crawler traps."""

import posixpath
import re
from string import ascii_letters, digits
from urllib.parse import parse_qsl, quote, urljoin, urlsplit, urlunsplit

_MAX_URL_LENGTH = 1500
_MAX_PATH_SEGMENTS = 16
_MAX_QUERY_PARAMETERS = 8
_MAX_SEGMENT_REPEATS = 2
# Parameters for tracking and sessions, which do not affect the content.
_TRACKING_PARAMETER = re.compile(
    r"(?:utm_\w+|fbclid|gclid|dclid|msclkid|mc_[ce]id|igshid|_ga|_gl|ref_src|"
    r"phpsessid|jsessionid|sid|sessionid)",
    re.IGNORECASE,
)
_SESSION_PATH_SUFFIX = re.compile(r";jsessionid=[^/?#]*", re.IGNORECASE)
_BEFORE_QUERY = re.compile(r"\A[^?#]+")
_PATH_CHARACTERS = "/:@!$&'()*+,;=~-._"
_QUERY_CHARACTERS = f"{_PATH_CHARACTERS}?"
_UNRESERVED_CHARACTERS = frozenset(f"{ascii_letters}{digits}-._~")
_ESCAPE = re.compile("%[0-9A-Fa-f]{2}")
_BARE_PERCENT = re.compile("%(?![0-9A-Fa-f]{2})")
_NON_PAGE_EXTENSIONS = frozenset(
    re.findall(
        r"\w+",
        "7z avi bmp bz2 css dmg eot exe gif gz ico iso jar jpeg jpg m4a m4v mov mp3 mp4 mpeg mpg msi ogg ogv otf "
        "png rar rpm svg swf tar tgz tif tiff ttf wav webm webp wmv woff woff2 zip",
    )
)


def normalize_url(url: str, base_url: str | None = None) -> str | None:
    """Normalize a URL, without fragment and tracking parameters; None if it is not an HTTP URL."""
    try:
        parts = urlsplit(urljoin(base_url, _with_slashes(url.strip())) if base_url else url.strip())
        port = parts.port
    except ValueError:
        return None
    if parts.scheme.lower() not in {"http", "https"} or not parts.hostname:
        return None
    host = _decoded_host(parts.hostname.lower().rstrip("."))
    host = f"[{host}]" if ":" in host else host
    if port is not None and port != {"http": 80, "https": 443}[parts.scheme.lower()]:
        host = f"{host}:{port}"
    kept = [each for each in parts.query.split("&") if not _TRACKING_PARAMETER.fullmatch(each.partition("=")[0])]
    query = _normalize_escapes("&".join(kept), safe=_QUERY_CHARACTERS)
    return urlunsplit((parts.scheme.lower(), host, _normalize_path(parts.path), query, ""))


def _decoded_host(host: str) -> str:
    """Write a name with its own letters, as links name a site both so and in its ASCII form."""
    try:
        return host.encode("ascii").decode("idna") if "xn--" in host else host
    except UnicodeError:
        return host


def _with_slashes(link: str) -> str:
    """Read backslashes before the query as slashes, as browsers do."""
    return _BEFORE_QUERY.sub(lambda found: found[0].replace("\\", "/"), link, count=1)


def site_of(url: str) -> str:
    """Return the host and port of a URL without `www.`, equal for all URLs of one site."""
    parts = urlsplit(url)
    host = (parts.hostname or "").removeprefix("www.")
    return host if parts.port is None else f"{host}:{parts.port}"


def is_crawler_trap(url: str) -> bool:
    """Return whether a URL looks like one of an unbounded set: calendars, sessions, repeated segments."""
    parts = urlsplit(url)
    segments = [segment for segment in parts.path.split("/") if segment]
    return (
        len(url) > _MAX_URL_LENGTH
        or len(segments) > _MAX_PATH_SEGMENTS
        or len(parse_qsl(parts.query)) > _MAX_QUERY_PARAMETERS
        or any(segments.count(segment) > _MAX_SEGMENT_REPEATS for segment in set(segments))
    )


def may_be_page(url: str) -> bool:
    """Return whether a URL may be a page or a document: all but media, archives and programs by their extension."""
    name = posixpath.basename(urlsplit(url).path).lower()
    return "." not in name or name.rpartition(".")[2] not in _NON_PAGE_EXTENSIONS


def _normalize_path(path: str) -> str:
    """Resolve dot segments and normalize escapes; escaped slashes and names that begin with a dot stay."""
    path = _SESSION_PATH_SUFFIX.sub("", path) or "/"
    escaped = _normalize_escapes(path, safe=_PATH_CHARACTERS)
    clean = "/" + posixpath.normpath("/" + escaped).lstrip("/")
    return f"{clean}/" if escaped.endswith(("/", "/.", "/..")) and clean != "/" else clean


def _normalize_escapes(text: str, *, safe: str) -> str:
    """Escape what has to be, and unescape what need not be (RFC 3986, 6.2.2.2); all else stays as it is."""
    escaped = quote(text, safe=safe + "%", errors="surrogateescape")
    return _ESCAPE.sub(_normalize_escape, _BARE_PERCENT.sub("%25", escaped))


def _normalize_escape(escape: re.Match[str]) -> str:
    character = chr(int(escape[0][1:], 16))
    return character if character in _UNRESERVED_CHARACTERS else escape[0].upper()
