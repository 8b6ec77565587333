"""Multipart forms with a file: read within bounds, checked like any other body."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from pydantic_core import PydanticCustomError
from python_multipart.exceptions import FormParserError
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request

from api.problems import BadRequestError, TooLargeError
from api.queries.submit import Draft
from api.state import State
from schemas.base import Metadata
from schemas.events import Upload
from schemas.http.documents import FileForm
from schemas.http.parts import metadata
from schemas.limits import FILE_BYTES


@dataclass(frozen=True, slots=True)
class Form:
    """A form that was read: its fields, and the file if there was one."""

    fields: FileForm
    file: UploadFile | None


async def draft(request: Request, state: State, *, file_required: bool) -> Draft:
    """What the form wants of a document; the file is stored before this returns."""
    raw = await _read(request)
    try:
        form = _checked(raw, file_required=file_required)
        upload = None if form.file is None else await _store(form.file, form.fields, state)
        return Draft(
            upload=upload,
            supporting_context=form.fields.supporting_context,
            metadata=_object("metadata", form.fields.metadata),
            group=_object("group", form.fields.group),
            date=form.fields.date,
            task_type=form.fields.task_type,
            dreaming=form.fields.dreaming,
        )
    finally:
        await raw.close()


async def _read(request: Request) -> FormData:
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


def _checked(raw: FormData, *, file_required: bool) -> Form:
    items = raw.multi_items()
    names = [name for name, _ in items]
    if twice := {name for name in names if names.count(name) > 1}:
        raise _invalid([("twice", (name,), "is given twice") for name in sorted(twice)])
    file = raw.get("file")
    if file is not None and not isinstance(file, UploadFile):
        raise _invalid([("file", ("file",), "must be a file: a part with a filename")])
    if file is None and file_required:
        raise _invalid([("missing", ("file",), "")])
    if others := [name for name, value in items if isinstance(value, UploadFile) and name != "file"]:
        raise _invalid([("no_file", (name,), "must not be a file") for name in others])
    return Form(_fields({name: value for name, value in items if isinstance(value, str)}), file)


def _fields(values: Mapping[str, str]) -> FileForm:
    try:
        return FileForm.model_validate(dict(values))
    except ValidationError as error:
        raise _invalid(
            (problem["type"], problem["loc"], problem["msg"]) for problem in error.errors()
        ) from None


def _object(name: str, text: str | None) -> Metadata | None:
    if text is None:
        return None
    try:
        return metadata(json.loads(text))
    except (ValueError, RecursionError) as error:
        said = (
            error.message() if isinstance(error, PydanticCustomError) else "must be a JSON object in a string"
        )
        raise _invalid([("metadata", (name,), said)]) from None


def _invalid(problems: Iterable[tuple[str, tuple[Any, ...], str]]) -> RequestValidationError:
    return RequestValidationError(
        [
            {"type": kind, "loc": ("body", *loc), "msg": message, "input": None}
            for kind, loc, message in problems
        ],
        body={},
    )


async def _store(file: UploadFile, fields: FileForm, state: State) -> Upload:
    size = file.size or 0
    if size > FILE_BYTES:
        raise TooLargeError(
            "The file is too large",
            f"It has {size} bytes; at most {FILE_BYTES} are taken ({FILE_BYTES >> 20} MB).",
        )
    if size == 0:
        raise BadRequestError("The file is empty", "Send a file that holds something.")
    media_type = fields.mime_type or file.content_type or "application/octet-stream"
    async with state.uploads:
        blob = await state.blobs.put(await file.read(), media_type)
    return Upload(
        blob=blob, filename=_clean(file.filename), file_type=fields.file_type, mime_type=fields.mime_type
    )


def _clean(filename: str | None) -> str | None:
    """The last part of the name, without characters that only do harm."""
    if not filename:
        return None
    last = filename.replace("\\", "/").rpartition("/")[2]
    return "".join(char for char in last if char.isprintable())[:255] or None
