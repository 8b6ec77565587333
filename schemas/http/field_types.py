"""Scalar types of request and response bodies."""

import math
import re
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypeVar
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from schemas import limits
from schemas.base import Metadata, format_timestamp, parse_iso_time

T = TypeVar("T")
if TYPE_CHECKING:
    Omittable: TypeAlias = T | None
else:

    class Omittable:
        """`Omittable[X] = None`: an optional field of type X; None means absent, never null."""

        def __class_getitem__(cls, item: Any) -> Any:
            return item


DATE_TIME_PATTERN = (
    r"^(?:(?:\d\d[2468][048]|\d\d[13579][26]|\d\d0[48]|[02468][048]00|[13579][26]00)-02-29|\d{4}-(?:(?:0[13578]|"
    r"1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)|(?:02)-(?:0[1-9]|1\d|2[0-8])))"
    r"T(?:(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z))$"
)
TimeText = Annotated[
    str, BeforeValidator(lambda value: format_timestamp(value) if isinstance(value, datetime) else value)
]
Timestamp = Annotated[TimeText, WithJsonSchema({"type": "string", "format": "date-time", "pattern": DATE_TIME_PATTERN})]
DateTime = Annotated[TimeText, WithJsonSchema({"type": "string", "format": "date-time"})]
"""Timestamp without the pattern, which the contract omits here."""

Count = Annotated[int, Field(ge=0, le=limits.MAX_SAFE_INTEGER)]
SafeInteger = Annotated[int, Field(ge=-limits.MAX_SAFE_INTEGER, le=limits.MAX_SAFE_INTEGER)]
NumberTypedInt = Annotated[int, WithJsonSchema({"type": "number"})]
"""Integer that the contract declares as number."""
ResponseMetadata = Mapping[str, Any]

Status = Literal["unknown", "queued", "extracting", "chunking", "embedding", "indexing", "done", "failed"]
DreamingStatus = Literal["dreaming", "done"]
RelationKind = Literal["updates", "extends", "derives"]


def _reject_nul_and_surrogates(text: str) -> str:
    if "\x00" in text:
        raise PydanticCustomError("nul_character", "must not hold a NUL character (U+0000)")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise PydanticCustomError("surrogate", "must not hold half of a surrogate pair") from None
    return text


def _reject_line_ends(text: str) -> str:
    if "\n" in text:
        raise PydanticCustomError("line_end", "must not hold a line end")
    return text


def _reject_dot_segments(text: str) -> str:
    if text in {".", ".."}:
        raise PydanticCustomError("dot_segment", "must not be . or .., which clients remove from a path")
    return text


def _coerce_whole_float(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _validate_uri(text: str) -> str:
    try:
        parts = urlsplit(text)
    except ValueError:
        parts = None
    if parts is None or not parts.scheme or not (parts.netloc or parts.path):
        raise PydanticCustomError("uri", "must be a URI such as https://example.org/path")
    return text


def _validate_date(text: str) -> str:
    if text.strip() and parse_iso_time(text) is None:
        raise PydanticCustomError(
            "date",
            "must be a date or a time in ISO 8601, of the years 0002 to 9998, like 2026-11-30 or 2026-11-30T09:30:00Z",
        )
    return text


REJECT_NUL = AfterValidator(_reject_nul_and_surrogates)
Text = Annotated[str, REJECT_NUL]
Date = Annotated[Text, AfterValidator(_validate_date)]
"""Date of a text; an empty one clears it."""
COERCE_WHOLE_FLOAT = BeforeValidator(_coerce_whole_float)
"""Must follow the bounds of a StrictInt: accepts 10 and 10.0, but not "10" or true."""
Uri = Annotated[Text, AfterValidator(_validate_uri), WithJsonSchema({"type": "string", "format": "uri"})]

NamespaceName = Annotated[str, Field(max_length=limits.MAX_NAMESPACE_LENGTH, pattern=limits.NAMESPACE_PATTERN)]
DocumentId = Annotated[
    Text, Field(min_length=1, max_length=limits.MAX_DOCUMENT_ID_LENGTH), AfterValidator(_reject_line_ends)
]
"""No line ends, because such an id cannot be used in a request path."""
NewDocumentId = Annotated[DocumentId, AfterValidator(_reject_dot_segments)]
"""Id that a document may get; one that it has already is not refused."""
ResourceId = Annotated[Text, Field(min_length=1)]
SupportingContext = Annotated[Text, Field(max_length=limits.MAX_SUPPORTING_CONTEXT_LENGTH)]
BucketName = Annotated[
    str, Field(min_length=1, max_length=limits.MAX_BUCKET_NAME_LENGTH, pattern=limits.BUCKET_PATTERN)
]


def parse_metadata(value: object) -> Metadata:
    """Validate metadata: strings, numbers, booleans and lists of strings; null values are dropped."""
    if not isinstance(value, dict):
        raise PydanticCustomError("metadata", "must be an object")
    if _count_values(value) > limits.MAX_METADATA_CHARS:
        raise _too_much_metadata()
    clean = {}
    for key, item in value.items():
        if item is None:
            continue
        clean[_metadata_string(key, key)] = _metadata_value(key, item)
    if metadata_chars(clean) > limits.MAX_METADATA_CHARS:
        raise _too_much_metadata()
    return clean


def _too_much_metadata() -> PydanticCustomError:
    return PydanticCustomError(
        "metadata_size", "holds more than {limit} characters and values", {"limit": limits.MAX_METADATA_CHARS}
    )


def _count_values(value: dict[Any, Any]) -> int:
    """Count before anything is looked at, because a value may be empty and still costs time and space."""
    return sum(1 + (len(item) if isinstance(item, list) else 0) for item in value.values())


def metadata_chars(metadata: Metadata) -> int:
    """Count the characters of all keys and values, and one more for each value."""
    return sum(
        1 + len(key) + (len(value) + sum(map(len, value)) if isinstance(value, list) else len(str(value)))
        for key, value in metadata.items()
    )


def _metadata_value(key: str, item: object) -> str | bool | int | float | list[str]:
    match item:
        case bool():
            return item
        case str():
            return _metadata_string(key, item)
        case int() | float():
            return _metadata_number(key, item)
        case list() if all(isinstance(part, str) for part in item):
            return [_metadata_string(key, part) for part in item]
    raise PydanticCustomError(
        "metadata_value", "{key} must be a string, a number, a boolean or a list of strings", {"key": _quoted_key(key)}
    )


def _metadata_string(key: str, text: str) -> str:
    if "\x00" in text or re.search(r"[\ud800-\udfff]", text):
        raise PydanticCustomError(
            "metadata_text", "{key} holds a NUL character or half of a surrogate pair", {"key": _quoted_key(key)}
        )
    return text


def _metadata_number(key: str, number: float) -> int | float:
    """Convert integers beyond 64 bits to floats, like other JSON parsers do."""
    if isinstance(number, int) and -(2**63) <= number < 2**63:
        return number
    try:
        real = float(number)
    except OverflowError:
        real = math.inf
    if not math.isfinite(real):
        raise PydanticCustomError("metadata_number", "{key} must be a finite number", {"key": _quoted_key(key)})
    return real


def _quoted_key(key: str) -> str:
    return ascii(key[:80])


MetadataBody = Annotated[
    Metadata,
    PlainValidator(parse_metadata),
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
