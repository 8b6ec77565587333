"""Multipart forms with a file: read within bounds, validated like JSON bodies, and the file stored as a blob."""

import re
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from hashlib import file_digest
from typing import Any, TypeVar
from urllib.parse import unquote

from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticCustomError
from python_multipart.exceptions import FormParserError
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request

from api.commands.document_submission import DocumentDraft
from api.dependencies.app_state import AppState
from api.errors.http_errors import BadRequestError, PayloadTooLargeError
from pipeline.parsing.file_types import printable_name
from schemas.base import Metadata
from schemas.events import BlobRef, Upload
from schemas.http.field_types import parse_metadata
from schemas.http.v5.document_bodies import FileFormFields
from schemas.limits import MAX_FILE_BYTES
from schemas.strict_json import parse_json

FieldsT = TypeVar("FieldsT", bound=BaseModel)
_EXTENDED_FILENAME = re.compile(r";\s*filename\*\s*=\s*utf-8'[^']*'([^;\s]+)", re.IGNORECASE)
"""A name by RFC 5987, which RFC 7578 forbids beside the plain one and .NET sends."""


@dataclass(frozen=True, slots=True)
class ParsedForm:
    fields: FileFormFields
    file: UploadFile | None


@asynccontextmanager
async def document_draft(request: Request, state: AppState, *, file_required: bool) -> AsyncIterator[DocumentDraft]:
    """Read a form into a draft, which is to be submitted before the form is closed."""
    async with read_form(request) as raw:
        yield await to_document_draft(raw, state, file_required=file_required)


async def to_document_draft(raw: FormData, state: AppState, *, file_required: bool) -> DocumentDraft:
    """Validate a form; its file is stored when the draft is submitted."""
    form = _validate_form(raw, file_required=file_required)
    draft = _draft_of_fields(form.fields)
    if (file := form.file) is None:
        return draft
    size = _require_size(file)
    digest = await run_in_threadpool(file_digest, file.file, "sha256")  # type: ignore[arg-type]  # it has readinto
    media_type = form.fields.mime_type or file.content_type or "application/octet-stream"
    blob = BlobRef(sha256=digest.hexdigest(), size=size, media_type=media_type)

    async def store() -> None:
        async with state.policies.upload_slots:
            await file.seek(0)
            await state.blobs.put(await file.read(), media_type)

    return replace(draft, upload=_upload_of(file, form.fields, blob), store_upload=store)


def _draft_of_fields(fields: FileFormFields) -> DocumentDraft:
    return DocumentDraft(
        supporting_context=fields.supporting_context,
        metadata=_parse_json_object("metadata", fields.metadata),
        group=_parse_json_object("group", fields.group),
        date=fields.date,
        task_type=fields.task_type,
        dreaming=fields.dreaming,
    )


@asynccontextmanager
async def read_form(request: Request) -> AsyncIterator[FormData]:
    """Read a form within bounds, and close it in the end; BadRequestError if it is none."""
    form = await _read_form(request)
    try:
        yield form
    finally:
        await form.close()


async def _read_form(request: Request) -> FormData:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "multipart/form-data":
        raise BadRequestError("The body must be a form", "Send multipart/form-data with a part named `file`.")
    try:
        return await request.form(max_files=2, max_fields=20, max_part_size=1024 * 1024)
    except FormParserError as error:
        raise BadRequestError("The form can't be read", str(error)) from None
    except UnicodeDecodeError:
        raise BadRequestError("The form can't be read", "A field is not UTF-8.") from None
    except HTTPException as error:
        if error.status_code != 400:
            raise
        raise BadRequestError("The form can't be read", str(error.detail)) from None


def _validate_form(raw: FormData, *, file_required: bool) -> ParsedForm:
    items = raw.multi_items()
    names = [name for name, _ in items]
    if repeated := {name for name in names if names.count(name) > 1}:
        raise _form_validation_error([("twice", (name,), "is given twice") for name in sorted(repeated)])
    file = raw.get("file")
    if file is not None and not isinstance(file, UploadFile):
        raise _form_validation_error([("file", ("file",), "must be a file: a part with a filename")])
    if file is None and file_required:
        raise _form_validation_error([("missing", ("file",), "")])
    if others := [name for name, value in items if isinstance(value, UploadFile) and name != "file"]:
        raise _form_validation_error([("no_file", (name,), "must not be a file") for name in others])
    texts = {name: value for name, value in items if isinstance(value, str)}
    return ParsedForm(validate_fields(FileFormFields, texts), file)


def validate_fields(model: type[FieldsT], values: Mapping[str, Any]) -> FieldsT:
    """Validate the fields of a form; RequestValidationError names each that is wrong."""
    try:
        return model.model_validate(dict(values))
    except ValidationError as error:
        problems = [{**problem, "loc": ("body", *problem["loc"])} for problem in error.errors()]
        raise RequestValidationError(problems, body={}) from None


def _parse_json_object(name: str, value: str | None) -> Metadata | None:
    if value is None:
        return None
    try:
        return parse_metadata(parse_json(value.encode()))
    except ValueError as error:
        message = error.message() if isinstance(error, PydanticCustomError) else "must be a JSON object in a string"
        raise _form_validation_error([("metadata", (name,), message)]) from None


def _form_validation_error(problems: Iterable[tuple[str, tuple[Any, ...], str]]) -> RequestValidationError:
    return RequestValidationError(
        [{"type": kind, "loc": ("body", *loc), "msg": message, "input": None} for kind, loc, message in problems],
        body={},
    )


def _require_size(file: UploadFile) -> int:
    size = file.size or 0
    if size > MAX_FILE_BYTES:
        raise PayloadTooLargeError(
            "The file is too large", f"It has {size} bytes; the limit is {MAX_FILE_BYTES} ({MAX_FILE_BYTES >> 20} MB)."
        )
    if size == 0:
        raise BadRequestError("The file is empty", "Send a file with content.")
    return size


def _upload_of(file: UploadFile, fields: FileFormFields, blob: BlobRef) -> Upload:
    return Upload(
        blob=blob,
        filename=printable_name(_sent_filename(file)),
        file_type=fields.file_type,
        mime_type=fields.mime_type,
    )


def _sent_filename(file: UploadFile) -> str:
    """Return the name of a file, also as .NET and some mail programs write letters that are not ASCII.

    Browsers write a quotation mark as `%22`, and nothing else so (HTML, multipart/form-data encoding algorithm).
    """
    if (extended := _EXTENDED_FILENAME.search(file.headers.get("content-disposition", ""))) is not None:
        return unquote(extended[1])
    name = file.filename or ""
    if name.startswith("=?"):
        from pipeline.parsing.mail.mail_text import decode_header_value  # noqa: PLC0415 - loads what reads mails

        return decode_header_value(name)
    return name.replace("%22", '"')
