"""Base models of events and of HTTP bodies."""

from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic.alias_generators import to_camel

MetadataValue = str | bool | int | float | list[str]
Metadata = dict[str, MetadataValue]


class Event(BaseModel):
    """Event on a topic. Frozen; unknown fields are ignored, so that older readers accept newer events."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class RequestBody(BaseModel):
    """Request body: camelCase on the wire, unknown fields rejected, null counts as absent.

    Fields that null clears are listed by `nullable_fields`.
    """

    model_config = ConfigDict(
        extra="forbid", alias_generator=to_camel, validate_by_name=False, validate_by_alias=True, frozen=True
    )

    @classmethod
    def nullable_fields(cls) -> frozenset[str]:
        """Return the wire names of fields for which null is a value."""
        return frozenset()

    @model_validator(mode="before")
    @classmethod
    def _drop_nulls(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        nullable = cls.nullable_fields()
        return {key: value for key, value in data.items() if value is not None or key in nullable}


class ResponseBody(BaseModel):
    """Response body, also of an object with attributes of these names (`model_validate`).

    Routes exclude unset fields, so that an optional key is absent instead of null.
    """

    model_config = ConfigDict(
        alias_generator=to_camel, validate_by_name=True, validate_by_alias=True, from_attributes=True
    )


def format_timestamp(moment: datetime) -> str:
    """Format as RFC 3339 in UTC with milliseconds and a literal Z, which the contract's pattern requires."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def format_optional_timestamp(moment: datetime | None) -> str | None:
    """Format a timestamp; None stays None."""
    return None if moment is None else format_timestamp(moment)
