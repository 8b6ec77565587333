"""The two kinds of model: what travels on topics, and what travels over HTTP."""

from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic.alias_generators import to_camel

MetadataValue = str | bool | int | float | list[str]
Metadata = dict[str, MetadataValue]


class Event(BaseModel):
    """A fact on a topic. Frozen; unknown fields are ignored, so an older reader survives a newer writer."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Body(BaseModel):
    """A request body: camelCase on the wire, unknown fields rejected, null counts as absent.

    Fields where null means something (it clears) are listed in `nullable`.
    """

    model_config = ConfigDict(
        extra="forbid", alias_generator=to_camel, validate_by_name=False, validate_by_alias=True, frozen=True
    )

    @classmethod
    def nullable(cls) -> frozenset[str]:
        """Wire names for which null is a value of its own."""
        return frozenset()

    @model_validator(mode="before")
    @classmethod
    def _null_is_absent(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        keep = cls.nullable()
        return {key: value for key, value in data.items() if value is not None or key in keep}


class Answer(BaseModel):
    """A response body. Routes exclude what was not set, so an optional key is absent, not null."""

    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True, validate_by_alias=True)


def timestamp(moment: datetime) -> str:
    """RFC 3339 in UTC with milliseconds and a literal Z, as the contract's pattern wants it."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
