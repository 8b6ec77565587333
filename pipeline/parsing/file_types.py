"""Kinds of files: by signature, then by the caller's hints; the text itself decides the rest (text_types).

The kinds are the values of a document's `type`: text, markdown, webpage, pdf, docx, pptx, xlsx, csv, email, json, chat,
code, calendar, contacts, archive, image, audio, video, notebook (shown as markdown); and the formats doc, ppt, xls,
odt, ods, odp, rtf, epub.
"""

import zipfile
from io import BytesIO
from pathlib import PurePath

from pipeline.parsing.archive_files import is_archive
from schemas.events import Upload

TEXT_KINDS = frozenset({"text", "markdown", "webpage", "csv", "email", "json", "chat", "code", "rtf"})
"""Kinds that are texts in some charset; all others are bytes with a signature."""
MEDIA_KINDS = frozenset({"image", "audio", "video"})
_SAMPLE_BYTES = 4096
_OFFICE_MIME_PREFIX = "application/vnd.openxmlformats-officedocument."

KIND_BY_MIME_TYPE = {
    "text/plain": "text",
    "text/calendar": "text",
    "application/ics": "text",
    "text/vcard": "text",
    "text/x-vcard": "text",
    "text/markdown": "markdown",
    "text/x-markdown": "markdown",
    "text/html": "webpage",
    "application/xhtml+xml": "webpage",
    "application/pdf": "pdf",
    f"{_OFFICE_MIME_PREFIX}wordprocessingml.document": "docx",
    f"{_OFFICE_MIME_PREFIX}presentationml.presentation": "pptx",
    f"{_OFFICE_MIME_PREFIX}spreadsheetml.sheet": "xlsx",
    "application/msword": "doc",
    "application/vnd.ms-powerpoint": "ppt",
    "application/vnd.ms-excel": "xls",
    "application/vnd.oasis.opendocument.text": "odt",
    "application/vnd.oasis.opendocument.spreadsheet": "ods",
    "application/vnd.oasis.opendocument.presentation": "odp",
    "application/epub+zip": "epub",
    "application/x-ipynb+json": "notebook",
    "application/rtf": "rtf",
    "text/rtf": "rtf",
    "text/csv": "csv",
    "text/tab-separated-values": "csv",
    "message/rfc822": "email",
    "application/vnd.ms-outlook": "email",
    "application/x-msg": "email",
    "application/json": "json",
    "application/x-ndjson": "json",
    "application/jsonl": "json",
    "text/javascript": "code",
    "application/javascript": "code",
    "text/x-python": "code",
    "application/xml": "code",
    "text/xml": "code",
    "application/yaml": "code",
    "text/css": "code",
}

_EXTENSIONS_BY_KIND = {
    "text": "txt log text rst org ics vcf",
    "markdown": "md markdown mdx",
    "webpage": "html htm xhtml",
    **{kind: kind for kind in ("pdf", "docx", "pptx", "xlsx", "doc", "ppt", "xls", "odt", "ods", "odp", "epub", "rtf")},
    "csv": "csv tsv",
    "email": "eml msg",
    "json": "json jsonl ndjson",
    "code": "py pyi js mjs cjs ts tsx jsx java kt kts scala c h cc cpp cxx hpp cs go rs rb php swift m mm "
    "lua pl pm r jl dart ex exs erl hs clj sql sh bash zsh fish ps1 bat css scss less vue svelte xml yaml "
    "yml toml ini cfg conf dockerfile makefile cmake gradle tf proto graphql",
    "notebook": "ipynb",
    "image": "png jpg jpeg gif webp bmp tif tiff heic heif avif svg",
    "audio": "mp3 wav m4a ogg oga opus flac aac",
    "video": "mp4 mov mkv webm avi mpeg mpg",
}
KIND_BY_EXTENSION = {extension: kind for kind, names in _EXTENSIONS_BY_KIND.items() for extension in names.split()}

_SIGNATURES: tuple[tuple[int, bytes, str], ...] = (
    (0, b"%PDF-", "pdf"),
    (0, b"\x89PNG\r\n", "image"),
    (0, b"\xff\xd8\xff", "image"),
    (0, b"GIF8", "image"),
    (8, b"WEBP", "image"),
    (0, b"II*\x00", "image"),
    (0, b"MM\x00*", "image"),
    (8, b"WAVE", "audio"),
    (8, b"AVI ", "video"),
    (0, b"ID3", "audio"),
    (0, b"\xff\xfb", "audio"),
    (0, b"\xff\xf3", "audio"),
    (0, b"OggS", "audio"),
    (0, b"fLaC", "audio"),
    (4, b"ftypM4A", "audio"),
    (4, b"ftyphei", "image"),
    (4, b"ftypavif", "image"),
    (4, b"ftypmif1", "image"),
    (4, b"ftypmsf1", "image"),
    (4, b"ftyp", "video"),
    (0, b"\x1aE\xdf\xa3", "video"),
    (0, b"{\\rtf", "rtf"),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "ole"),
    (0, b"7z\xbc\xaf\x27\x1c", "packed"),
    (0, b"Rar!\x1a\x07", "packed"),
)
_OFFICE_PACKAGES = (("word/", "docx"), ("ppt/", "pptx"), ("xl/", "xlsx"))
_OUTLOOK_STREAM = "__properties_version1.0".encode("utf-16-le")
_ENCRYPTED_STREAM = "EncryptedPackage".encode("utf-16-le")
_CONTROL_BYTES = bytes(set(range(32)) - set(b"\t\n\f\r\x1b"))
_LEGACY_OFFICE_STREAMS = {
    kind: name.encode("utf-16-le")
    for kind, name in {"doc": "WordDocument", "ppt": "PowerPoint Document", "xls": "Workbook"}.items()
}


def detect_file_kind(data: bytes, upload: Upload) -> str | None:
    """Return the kind by signature, else by the caller's hints; None if only its text can tell.

    `ole` is an office file of an old format, `encrypted` one with a password, `archive` one that is not a document, and
    `packed` one that nothing here opens.
    """
    hint = kind_from_hints(upload)
    signed = _kind_from_signature(data)
    if signed == "ole":
        is_document = hint in _LEGACY_OFFICE_STREAMS and _LEGACY_OFFICE_STREAMS[hint] in data  # it may embed a mail
        if (_OUTLOOK_STREAM in data or hint == "email") and not is_document:
            return "email"
        return hint if hint in _LEGACY_OFFICE_STREAMS else "encrypted" if _ENCRYPTED_STREAM in data else "ole"
    if signed is None and file_extension(upload.filename) == "msg":
        return None  # not Outlook's format: a mail as text, or a message file of another program
    if signed is None and hint in {"audio", "video"} and _looks_like_text(data):
        # Many programs call TypeScript, whose files end in .ts, a video (MPEG transport stream).
        named = KIND_BY_EXTENSION.get(file_extension(upload.filename))
        return named if named in TEXT_KINDS - {"text"} else None
    return signed or (hint if hint != "text" else None)


def kind_from_hints(upload: Upload) -> str | None:
    """Return the kind that the caller declares: by MIME type, filename, then the coarse file type."""
    mime = (upload.mime_type or "").split(";")[0].strip().lower()
    family = mime.split("/")[0]
    by_mime = KIND_BY_MIME_TYPE.get(mime) or (family if family in MEDIA_KINDS else None)
    if by_mime not in {None, "text"}:
        return by_mime
    suffix = file_extension(upload.filename)
    return KIND_BY_EXTENSION.get(suffix) or by_mime or upload.file_type


def file_extension(filename: str | None) -> str:
    """Return the extension in lower case without the dot; the whole name if there is none (`Makefile`)."""
    path = PurePath(filename or "")
    return (path.suffix[1:] or path.name).lower()


def printable_name(filename: str) -> str | None:
    r"""Return the last part of a file's name without what can't be printed; None if nothing is left.

    >>> printable_name("../a\\b\u202e\ud800.pdf"), printable_name("a/")
    ('b.pdf', None)
    """
    last = filename.replace("\\", "/").rpartition("/")[2]
    return "".join(char for char in last if char.isprintable())[:255] or None


def _kind_from_signature(data: bytes) -> str | None:
    if data[:4] == b"PK\x03\x04":
        return _kind_of_zip(data)
    kind = next((kind for at, mark, kind in _SIGNATURES if data[at : at + len(mark)] == mark), None)
    if kind is None and is_archive(data):
        return "archive"
    # A PDF may begin with junk; PDF readers look for its header in the first kilobyte.
    return kind or ("pdf" if b"%PDF-" in data[:1024] and b"\x00" in data[:65536] else None)


def _kind_of_zip(data: bytes) -> str:
    """Return the office format of a ZIP by its member names; unpacks only a short `mimetype` member."""
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            names = archive.namelist()
            for folder, kind in _OFFICE_PACKAGES:
                if any(name.startswith(folder) for name in names):
                    return kind
            if "mimetype" in names and archive.getinfo("mimetype").file_size < 256:
                return KIND_BY_MIME_TYPE.get(archive.read("mimetype").decode("ascii", "replace").strip(), "archive")
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError, ValueError):
        return "archive"
    return "archive"


def _looks_like_text(data: bytes) -> bool:
    return len(data) > 0 and not set(data[:_SAMPLE_BYTES]) & set(_CONTROL_BYTES)
