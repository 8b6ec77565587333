"""What a file of Drive becomes: native documents as Markdown or Office files, the rest as it is."""

import re

import httpx2

from connectors.errors import NotFetchedError
from connectors.ports import Failure, File, Item, Removed
from connectors.providers.drive_api import GOOGLE, DriveApi, DriveFile, denied
from connectors.providers.files import metadata_of, refusal, version
from connectors.providers.google import refusals

OFFICE = "application/vnd.openxmlformats-officedocument."
# What is asked for, its file's ending, and what is asked for instead where that is too large to be exported.
_EXPORTS = {
    f"{GOOGLE}document": ("text/markdown", "md", None),
    f"{GOOGLE}spreadsheet": (f"{OFFICE}spreadsheetml.sheet", "xlsx", None),
    f"{GOOGLE}presentation": (f"{OFFICE}presentationml.presentation", "pptx", "text/plain"),
    f"{GOOGLE}drawing": ("application/pdf", "pdf", None),
}
_TYPES = {
    f"{GOOGLE}document": "google_doc",
    f"{GOOGLE}spreadsheet": "google_sheet",
    f"{GOOGLE}presentation": "google_slide",
    f"{GOOGLE}drawing": "google_drawing",
}
_NOT_ALLOWED = "Its owner does not allow downloads. Ask for it, or take the file out of the selection."
_REASONS = {
    "cannotDownloadFile": _NOT_ALLOWED,
    "cannotExportFile": _NOT_ALLOWED,
    "cannotDownloadAbusiveFile": "Google holds the file for malware or abuse and does not hand it out.",
}
# Google puts every picture of a document into its Markdown, as base64 behind the text.
_PICTURE = re.compile(r"^\[image\d+\]:\s*<?data:image/[^\n]*$\n?", re.MULTILINE)
_SHOWN = re.compile(r"!\[([^\]\n]{0,500})\](?:\[image\d+\]|\(data:image/[^)\s]*\))")


def unreadable(file: DriveFile) -> Failure | None:
    """Why a file is not fetched, as far as its description tells."""
    if not file.downloadable:
        return Failure(file.id, _NOT_ALLOWED, title=file.name, code="not_allowed")
    if file.media_type in _EXPORTS:
        return None
    if file.media_type.startswith(GOOGLE):
        kind = file.media_type.removeprefix(GOOGLE)
        message = f"Google offers no text of a {kind}. Export it by hand and add the file."
        return Failure(file.id, message, title=file.name, code="unsupported")
    if (reason := refusal(file.name, file.media_type, file.size)) is None:
        return None
    return Failure(file.id, reason[1], title=file.name, code=reason[0])


def version_of(file: DriveFile, path: str) -> str:
    """Changes with content, name and place. (`version` of Drive changes with every look at comments, too.)"""
    return version(file.modified, file.md5, file.name, file.parent, path)


async def fetched(api: DriveApi, file: DriveFile, path: str) -> Item | Failure | Removed:
    """A file's content as an item."""
    try:
        response = await _content(api, file)
    except NotFetchedError as error:
        return Failure(file.id, str(error), title=file.name, code="too_large")
    if response.status_code == 404:
        return Removed(file.id)
    if response.status_code >= 400:
        said = next((text for reason, text in _REASONS.items() if reason in refusals(response)), None)
        message = said or f"Drive answered {response.status_code} when it was asked for the content."
        return Failure(
            file.id, message, title=file.name, code="not_allowed" if said else "unreadable", again=not said
        )
    return _item(file, path, response)


async def _content(api: DriveApi, file: DriveFile) -> httpx2.Response:
    if file.media_type not in _EXPORTS:
        return await api.download(file.id)
    media_type, _, instead = _EXPORTS[file.media_type]
    response = await api.export(file.id, media_type)
    if not denied(response):
        return response
    if instead is not None and not denied(smaller := await api.export(file.id, instead)):
        return smaller
    return await api.export_large(file.id, media_type)


def _item(file: DriveFile, path: str, response: httpx2.Response) -> Item:
    given = response.headers.get("content-type", "").partition(";")[0]
    text, attached = None, None
    if given in {"text/markdown", "text/plain"} and file.media_type in _EXPORTS:
        text = _without_pictures(response.content.decode("utf-8-sig", errors="replace")) or f"# {file.name}"
    elif file.media_type in _EXPORTS:
        media_type, ending, _ = _EXPORTS[file.media_type]
        attached = File(response.content, f"{file.name}.{ending}", media_type)
    else:
        attached = File(response.content, file.name, file.media_type)
    return Item(
        id=file.id,
        version=version_of(file, path),
        title=file.name,
        text=text,
        file=attached,
        url=file.url,
        metadata=metadata_of(file, _TYPES.get(file.media_type, "file"), path),
        date=file.date,
    )


def _without_pictures(markdown: str) -> str:
    return _SHOWN.sub(r"\1", _PICTURE.sub("", markdown)).strip()
