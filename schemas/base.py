"""Base models of events and of HTTP bodies."""

import re
from datetime import MAXYEAR, MINYEAR, UTC, datetime
from email.utils import parsedate_to_datetime
from types import NoneType
from typing import Any, ClassVar, Self, get_args

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic.alias_generators import to_camel

MetadataValue = str | bool | int | float | list[str]
Metadata = dict[str, MetadataValue]
JsonObject = dict[str, Any]
_COARSE = re.compile("[0-9]{4}(-[0-9]{2})?")
_UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")


def replace_unstorable(text: str) -> str:
    """Replace what no event and no table can hold: NUL, and half of a surrogate pair, as JSON can write it.

    >>> replace_unstorable("a\\ud83d b\\x00")
    'a� b�'
    """
    return _UNSTORABLE.sub("\ufffd", text)


def parse_iso_time(text: str) -> datetime | None:
    """Parse a year, month, day or time in ISO 8601, in UTC without a zone; None if it is none.

    >>> parse_iso_time("2023-05").day, parse_iso_time("yesterday")
    (1, None)
    """
    text = text.strip()
    if _COARSE.fullmatch(text):
        text += "-01-01" if len(text) == 4 else "-01"
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        return None
    # The first and last year of the calendar leave no room for zones or for adding to the time.
    if not MINYEAR < parsed.year < MAXYEAR:
        return None
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)


def parse_header_time(text: str) -> datetime | None:
    """Parse a time as headers of mails and of HTTP write it (RFC 5322), in UTC without a zone; None if it is none."""
    try:
        parsed = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)


class _Derivable(BaseModel):
    """Model that can be built of another object with attributes of the same names."""

    @classmethod
    def of(cls, source: object, /, **given: Any) -> Self:
        """Take the fields that are not given from an object; one with a default may be absent there, or None."""
        fields = {name: field for name, field in cls.model_fields.items() if name not in given}
        required = {name: getattr(source, name) for name, field in fields.items() if field.is_required()}
        others = {name: getattr(source, name, None) for name in fields.keys() - required.keys()}
        return cls(**required, **without_none(**others), **given)


class Event(_Derivable):
    """Event on a topic. Frozen; unknown fields are ignored, so that older readers accept newer events."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class RequestBody(BaseModel):
    """Request body: camelCase on the wire, unknown fields rejected, null counts as absent unless it clears a field."""

    model_config = ConfigDict(
        extra="forbid", alias_generator=to_camel, validate_by_name=False, validate_by_alias=True, frozen=True
    )

    null_clears: ClassVar[frozenset[str]] = frozenset()
    """Wire names of the fields for which null is a value."""

    @model_validator(mode="before")
    @classmethod
    def _drop_nulls(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        return {key: value for key, value in data.items() if value is not None or key in cls.null_clears}


class PatchBody(RequestBody):
    """Request body of a change, of at least one field. null is a value of the fields declared `X | None`."""

    changes_nothing: ClassVar[frozenset[str]] = frozenset()
    """Names of the fields that change nothing by themselves."""

    @classmethod
    def __pydantic_init_subclass__(cls, **options: Any) -> None:
        super().__pydantic_init_subclass__(**options)
        nullable = (name for name, field in cls.model_fields.items() if NoneType in get_args(field.annotation))
        cls.null_clears = frozenset(map(to_camel, nullable))

    @model_validator(mode="after")
    def _require_a_change(self) -> Self:
        if not self.model_fields_set - self.changes_nothing:
            fields = type(self).model_fields
            *names, last = (to_camel(name) for name in fields if name not in self.changes_nothing)
            given = f"at least one of {', '.join(names)} and {last}" if names else last
            raise ValueError(f"give {given}: there is nothing to change")
        return self


def _allow_further_fields(schema: dict[str, Any]) -> None:
    if schema.get("additionalProperties") is False:
        del schema["additionalProperties"]


class ResponseBody(_Derivable):
    """Response body, also of an object with attributes of these names (`model_validate`, `of`).

    Routes exclude unset fields, so that an optional key is absent instead of null. A field that it does not have is
    refused, so that none is lost by a wrong name; its schema allows clients to expect further ones.
    """

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra=_allow_further_fields,
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        from_attributes=True,
    )


class ClosedResponseBody(ResponseBody):
    """Response body to which the contract allows no further field."""

    model_config = ConfigDict(json_schema_extra=None)


def without_none(**values: Any) -> dict[str, Any]:
    """Drop fields without a value: an optional key is absent, not null."""
    return {name: value for name, value in values.items() if value is not None}


def format_timestamp(moment: datetime) -> str:
    """Format as RFC 3339 in UTC with milliseconds and a literal Z, which the contract's pattern requires."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def format_optional_timestamp(moment: datetime | None) -> str | None:
    """Format a timestamp; None stays None."""
    return None if moment is None else format_timestamp(moment)
