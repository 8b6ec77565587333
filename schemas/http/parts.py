"""The building blocks of bodies and answers: the contract's scalar types, once."""

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypeVar
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainValidator,
    StrictBool,
    StrictFloat,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError

from schemas.base import Metadata
from schemas.limits import (
    BUCKET_NAME_LENGTH,
    BUCKET_PATTERN,
    DOCUMENT_ID_LENGTH,
    METADATA_BYTES,
    NAMESPACE_LENGTH,
    NAMESPACE_PATTERN,
    PAGE_MAXIMUM,
    SUPPORTING_CONTEXT_LENGTH,
)

T = TypeVar("T")
if TYPE_CHECKING:
    Maybe: TypeAlias = T | None
else:

    class Maybe:
        """`Maybe[X] = None`: absent unless set, and then an X: None stands for absence, never for null."""

        def __class_getitem__(cls, item: Any) -> Any:
            return item


DATE_TIME_PATTERN = (
    r"^(?:(?:\d\d[2468][048]|\d\d[13579][26]|\d\d0[48]|[02468][048]00|[13579][26]00)-02-29|\d{4}-(?:(?:0[13578]|"
    r"1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)|(?:02)-(?:0[1-9]|1\d|2[0-8])))"
    r"T(?:(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z))$"
)
Timestamp = Annotated[
    str, WithJsonSchema({"type": "string", "format": "date-time", "pattern": DATE_TIME_PATTERN})
]
DateTime = Annotated[str, WithJsonSchema({"type": "string", "format": "date-time"})]
"""As `Timestamp`, where the contract gives no pattern."""

Count = Annotated[int, Field(ge=0, le=PAGE_MAXIMUM)]
SafeInteger = Annotated[int, Field(ge=-PAGE_MAXIMUM, le=PAGE_MAXIMUM)]
Quantity = Annotated[int, WithJsonSchema({"type": "number"})]
"""A whole number that the contract calls a number."""
AnswerMetadata = Mapping[str, Any]

Status = Literal["unknown", "queued", "extracting", "chunking", "embedding", "indexing", "done", "failed"]
DreamingStatus = Literal["dreaming", "done"]
RelationKind = Literal["updates", "extends", "derives"]


def _printable(text: str) -> str:
    if "\x00" in text:
        raise PydanticCustomError("nul_character", "must not hold a NUL character (U+0000)")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise PydanticCustomError("surrogate", "must not hold half of a surrogate pair") from None
    return text


def _one_line(text: str) -> str:
    if "\n" in text:
        raise PydanticCustomError("line_end", "must not hold a line end")
    return text


def _whole(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _uri(text: str) -> str:
    try:
        parts = urlsplit(text)
    except ValueError:
        parts = None
    if parts is None or not parts.scheme or not (parts.netloc or parts.path):
        raise PydanticCustomError("uri", "must be a URI such as https://example.org/path")
    return text


NO_NUL = AfterValidator(_printable)
Text = Annotated[str, NO_NUL]
WHOLE = BeforeValidator(_whole)
"""Comes last, after the bounds of a StrictInt: takes 10 and 10.0, but not "10" or true."""
Real = StrictFloat
Flag = StrictBool
Uri = Annotated[Text, AfterValidator(_uri), WithJsonSchema({"type": "string", "format": "uri"})]

NamespaceName = Annotated[str, Field(max_length=NAMESPACE_LENGTH, pattern=NAMESPACE_PATTERN)]
DocumentId = Annotated[Text, Field(min_length=1, max_length=DOCUMENT_ID_LENGTH), AfterValidator(_one_line)]
"""No line ends: no path of a request leads to a document with one in its id."""
ResourceId = Annotated[Text, Field(min_length=1)]
SupportingContext = Annotated[Text, Field(max_length=SUPPORTING_CONTEXT_LENGTH)]
BucketName = Annotated[str, Field(min_length=1, max_length=BUCKET_NAME_LENGTH, pattern=BUCKET_PATTERN)]


def metadata(value: object) -> Metadata:
    """Metadata as the contract allows it: strings, numbers, booleans and lists of strings; null is absent."""
    if not isinstance(value, dict):
        raise PydanticCustomError("metadata", "must be an object")
    clean = {}
    for key, item in value.items():
        if item is None:
            continue
        clean[_string(key, key)] = _value(key, item)
    if metadata_size(clean) > METADATA_BYTES:
        raise PydanticCustomError(
            "metadata_size", "holds more than {limit} characters", {"limit": METADATA_BYTES}
        )
    return clean


def metadata_size(metadata: Metadata) -> int:
    """The characters of all keys and values."""
    return sum(
        len(key) + (sum(map(len, value)) if isinstance(value, list) else len(str(value)))
        for key, value in metadata.items()
    )


def _value(key: str, item: object) -> str | bool | int | float | list[str]:
    match item:
        case bool():
            return item
        case str():
            return _string(key, item)
        case int() | float():
            return _number(key, item)
        case list() if all(isinstance(part, str) for part in item):
            return [_string(key, part) for part in item]
    raise PydanticCustomError(
        "metadata_value",
        "{key} must be a string, a number, a boolean or a list of strings",
        {"key": _quoted(key)},
    )


def _string(key: str, text: str) -> str:
    if "\x00" in text or re.search(r"[\ud800-\udfff]", text):
        raise PydanticCustomError(
            "metadata_text", "{key} holds a NUL character or half of a surrogate pair", {"key": _quoted(key)}
        )
    return text


def _number(key: str, number: float) -> int | float:
    """Whole numbers beyond 64 bits become floats, as every JSON reader but Python's has them."""
    if isinstance(number, int) and -(2**63) <= number < 2**63:
        return number
    try:
        real = float(number)
    except OverflowError:
        real = math.inf
    if not math.isfinite(real):
        raise PydanticCustomError("metadata_number", "{key} must be a finite number", {"key": _quoted(key)})
    return real


def _quoted(key: str) -> str:
    return ascii(key[:80])


MetadataBody = Annotated[
    Metadata,
    PlainValidator(metadata),
    WithJsonSchema(
        {
            "type": "object",
            "additionalProperties": {
                "anyOf": [
                    {"type": "string"},
                    {"type": "number"},
                    {"type": "boolean"},
                    {"type": "array", "items": {"type": "string"}},
                ]
            },
        }
    ),
]
