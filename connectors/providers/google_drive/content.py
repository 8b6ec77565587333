"""Content of Drive files: native documents as Markdown or Office files, others unchanged."""

import re

import httpx2

from connectors.errors import ItemError
from connectors.providers.common.file_metadata import file_metadata, file_refusal, version_hash
from connectors.providers.common.item_fetcher import item_response
from connectors.providers.google.oauth_client import error_reasons
from connectors.providers.google_drive.client import GOOGLE_APPS_PREFIX, DriveClient, DriveFile, is_export_too_large
from connectors.sync_messages import ItemFile, SourceItem

OFFICE_PREFIX = "application/vnd.openxmlformats-officedocument."
# Export format, file extension, and the fallback format if the export is too large.
_EXPORTS = {
    f"{GOOGLE_APPS_PREFIX}document": ("text/markdown", "md", None),
    f"{GOOGLE_APPS_PREFIX}spreadsheet": (f"{OFFICE_PREFIX}spreadsheetml.sheet", "xlsx", None),
    f"{GOOGLE_APPS_PREFIX}presentation": (f"{OFFICE_PREFIX}presentationml.presentation", "pptx", "text/plain"),
    f"{GOOGLE_APPS_PREFIX}drawing": ("application/pdf", "pdf", None),
}
_DOCUMENT_TYPES = {
    f"{GOOGLE_APPS_PREFIX}document": "google_doc",
    f"{GOOGLE_APPS_PREFIX}spreadsheet": "google_sheet",
    f"{GOOGLE_APPS_PREFIX}presentation": "google_slide",
    f"{GOOGLE_APPS_PREFIX}drawing": "google_drawing",
}
_DOWNLOAD_FORBIDDEN_MESSAGE = "Its owner does not allow downloads. Ask for it, or take the file out of the selection."
_REASON_MESSAGES = {
    "cannotDownloadFile": _DOWNLOAD_FORBIDDEN_MESSAGE,
    "cannotExportFile": _DOWNLOAD_FORBIDDEN_MESSAGE,
    "cannotDownloadAbusiveFile": "Google holds the file for malware or abuse and does not hand it out.",
}
# Google embeds all images of a document in its Markdown as base64 after the text.
_EMBEDDED_IMAGE = re.compile(r"^\[image\d+\]:\s*<?data:image/[^\n]*$\n?", re.MULTILINE)
_IMAGE_REFERENCE = re.compile(r"!\[([^\]\n]{0,500})\](?:\[image\d+\]|\(data:image/[^)\s]*\))")


def refusal_of(file: DriveFile) -> ItemError | None:
    """Return why a file can't be fetched according to its description, None if it can."""
    if not file.downloadable:
        return ItemError(_DOWNLOAD_FORBIDDEN_MESSAGE, code="not_allowed")
    if file.media_type in _EXPORTS:
        return None
    if file.media_type.startswith(GOOGLE_APPS_PREFIX):
        kind = file.media_type.removeprefix(GOOGLE_APPS_PREFIX)
        return ItemError(f"Google offers no text of a {kind}. Export it by hand and add the file.", code="unsupported")
    return file_refusal(file.name, file.media_type, file.size)


def file_version(file: DriveFile, path: str) -> str:
    """Hash content, name and path; Drive's own `version` also changes with views and comments."""
    return version_hash(file.modified, file.md5, file.name, file.parent, path)


async def fetch_item(api: DriveClient, file: DriveFile, path: str) -> SourceItem:
    """Fetch a file's content as an item; ItemError if Drive does not hand it out."""
    response = await _download_content(api, file)
    if response.status_code >= 400:
        reason = next((text for reason, text in _REASON_MESSAGES.items() if reason in error_reasons(response)), None)
        if reason is not None:
            raise ItemError(reason, code="not_allowed")
    return _file_item(file, path, item_response(response, "Google Drive"))


async def _download_content(api: DriveClient, file: DriveFile) -> httpx2.Response:
    if file.media_type not in _EXPORTS:
        return await api.download(file.id)
    media_type, _, instead = _EXPORTS[file.media_type]
    response = await api.export(file.id, media_type)
    if not is_export_too_large(response):
        return response
    if instead is not None and not is_export_too_large(smaller := await api.export(file.id, instead)):
        return smaller
    try:
        return await _export_large(api, file.id, media_type)
    except ItemError:
        if media_type != "text/markdown":
            raise
        # Pictures make the Markdown of a document large; its plain text has none.
        return await api.export(file.id, "text/plain")


async def _export_large(api: DriveClient, id_: str, media_type: str) -> httpx2.Response:
    """Export what the direct call refuses for its size, in one of two ways; each serves documents the other doesn't."""
    try:
        return item_response(await api.export_large(id_, media_type), "Google Drive")
    except ItemError:
        if (linked := await api.export_by_link(id_, media_type)) is None:
            raise
        return linked


def _file_item(file: DriveFile, path: str, response: httpx2.Response) -> SourceItem:
    given = response.headers.get("content-type", "").partition(";")[0]
    text, attached = None, None
    if given in {"text/markdown", "text/plain"} and file.media_type in _EXPORTS:
        text = _strip_images(response.content.decode("utf-8-sig", errors="replace")) or f"# {file.name}"
    elif file.media_type in _EXPORTS:
        media_type, ending, _ = _EXPORTS[file.media_type]
        attached = ItemFile(response.content, f"{file.name}.{ending}", media_type)
    else:
        attached = ItemFile(response.content, file.name, file.media_type)
    return SourceItem(
        id=file.id,
        version=file_version(file, path),
        title=file.name,
        text=text,
        file=attached,
        url=file.url,
        metadata=file_metadata(file, _DOCUMENT_TYPES.get(file.media_type, "file"), path),
        date=file.date,
    )


def _strip_images(markdown: str) -> str:
    return _IMAGE_REFERENCE.sub(r"\1", _EMBEDDED_IMAGE.sub("", markdown)).strip()
