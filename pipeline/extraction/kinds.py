"""What kind of thing bytes or a text are: from their first bytes, then the caller's hints, then their shape.

The kinds are the values of a document's `type`: text, markdown, webpage, pdf, docx, pptx, xlsx, csv, email,
json, chat, code, image, audio, video; and the older office formats doc, ppt, xls, odt, ods, rtf, epub.
"""

import zipfile
from io import BytesIO
from pathlib import PurePath

from schemas.events import Upload

TEXTUAL = frozenset({"text", "markdown", "webpage", "csv", "email", "json", "chat", "code", "rtf"})
"""Kinds that are texts in some charset; all others are bytes with a signature."""
MEDIA = frozenset({"image", "audio", "video"})
OFFICE = "application/vnd.openxmlformats-officedocument."

MIME_TYPES = {
    "text/plain": "text",
    "text/markdown": "markdown",
    "text/x-markdown": "markdown",
    "text/html": "webpage",
    "application/xhtml+xml": "webpage",
    "application/pdf": "pdf",
    f"{OFFICE}wordprocessingml.document": "docx",
    f"{OFFICE}presentationml.presentation": "pptx",
    f"{OFFICE}spreadsheetml.sheet": "xlsx",
    "application/msword": "doc",
    "application/vnd.ms-powerpoint": "ppt",
    "application/vnd.ms-excel": "xls",
    "application/vnd.oasis.opendocument.text": "odt",
    "application/vnd.oasis.opendocument.spreadsheet": "ods",
    "application/epub+zip": "epub",
    "application/rtf": "rtf",
    "text/rtf": "rtf",
    "text/csv": "csv",
    "text/tab-separated-values": "csv",
    "message/rfc822": "email",
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

_EXTENSIONS = {
    "text": "txt log text rst org",
    "markdown": "md markdown mdx",
    "webpage": "html htm xhtml",
    "pdf": "pdf",
    "docx": "docx",
    "pptx": "pptx",
    "xlsx": "xlsx",
    "doc": "doc",
    "ppt": "ppt",
    "xls": "xls",
    "odt": "odt",
    "ods": "ods",
    "epub": "epub",
    "rtf": "rtf",
    "csv": "csv tsv",
    "email": "eml",
    "json": "json jsonl ndjson",
    "code": "py pyi js mjs cjs ts tsx jsx java kt kts scala c h cc cpp cxx hpp cs go rs rb php swift m mm "
    "lua pl pm r jl dart ex exs erl hs clj sql sh bash zsh fish ps1 bat css scss less vue svelte xml yaml "
    "yml toml ini cfg conf dockerfile makefile cmake gradle tf proto graphql ipynb",
    "image": "png jpg jpeg gif webp bmp tif tiff heic heif avif svg",
    "audio": "mp3 wav m4a ogg oga opus flac aac",
    "video": "mp4 mov mkv webm avi mpeg mpg",
}
EXTENSIONS = {extension: kind for kind, names in _EXTENSIONS.items() for extension in names.split()}

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
    (4, b"ftyp", "video"),
    (0, b"\x1aE\xdf\xa3", "video"),
    (0, b"{\\rtf", "rtf"),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "ole"),
)
_PACKAGES = (("word/", "docx"), ("ppt/", "pptx"), ("xl/", "xlsx"))
_OLD_OFFICE = frozenset({"doc", "ppt", "xls"})


def kind_of_file(data: bytes, upload: Upload) -> str | None:
    """The kind by signature, else by the caller's hints; None: a text whose shape has to tell.

    `ole` is an old or a password-protected office file, `zip` an archive that is no document.
    """
    hint = hinted(upload)
    signed = _signed(data)
    if signed == "ole":
        return hint if hint in _OLD_OFFICE else "ole"
    return signed or (hint if hint != "text" else None)


def hinted(upload: Upload) -> str | None:
    """What the caller says it is: MIME type, filename, then the coarse file type."""
    mime = (upload.mime_type or "").split(";")[0].strip().lower()
    family = mime.split("/")[0]
    by_mime = MIME_TYPES.get(mime) or (family if family in MEDIA else None)
    if by_mime not in {None, "text"}:
        return by_mime
    suffix = extension(upload.filename)
    return EXTENSIONS.get(suffix) or by_mime or upload.file_type


def extension(filename: str | None) -> str:
    """Lower case, without the dot; the whole name where it has none (`Makefile`)."""
    path = PurePath(filename or "")
    return (path.suffix[1:] or path.name).lower()


def _signed(data: bytes) -> str | None:
    if data[:4] == b"PK\x03\x04":
        return _package(data)
    found = next((kind for at, mark, kind in _SIGNATURES if data[at : at + len(mark)] == mark), None)
    # A PDF may begin with junk; readers look for its header in the first kilobyte.
    return found or ("pdf" if b"%PDF-" in data[:1024] and b"\x00" in data[:65536] else None)


def _package(data: bytes) -> str:
    """Which office format a ZIP is, by the names inside; nothing is unpacked but a short `mimetype`."""
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            names = archive.namelist()
            for folder, kind in _PACKAGES:
                if any(name.startswith(folder) for name in names):
                    return kind
            if "mimetype" in names and archive.getinfo("mimetype").file_size < 256:
                return MIME_TYPES.get(archive.read("mimetype").decode("ascii", "replace").strip(), "zip")
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError, ValueError):
        return "zip"
    return "zip"
