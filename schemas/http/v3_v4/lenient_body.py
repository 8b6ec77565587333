"""Bases of v3 and v4 request bodies: one that ignores unknown fields, and one that names containers besides."""

from typing import Annotated, Any, ClassVar

from pydantic import ConfigDict, Field, model_validator

from schemas.base import RequestBody
from schemas.limits import MAX_NAMESPACE_LENGTH, NAMESPACE_PATTERN

ContainerTag = Annotated[str, Field(min_length=1, max_length=MAX_NAMESPACE_LENGTH, pattern=NAMESPACE_PATTERN)]


class LenientBody(RequestBody):
    """Request body that ignores unknown fields.

    The clients send fields that their published interface does not name, so unknown fields are not an error.
    """

    model_config = ConfigDict(extra="ignore")

    cleared_by_null: ClassVar[frozenset[str]] = frozenset()
    """Names of texts that null clears, as an empty text does."""

    @model_validator(mode="before")
    @classmethod
    def _drop_nulls(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        cleared = {name: "" for name in cls.cleared_by_null & data.keys() if data[name] is None}
        return {name: value for name, value in data.items() if value is not None} | cleared


class TaggedBody(LenientBody):
    """Request body that names containers: one, or the deprecated list."""

    container_tag: ContainerTag | None = None
    container_tags: list[ContainerTag] | None = None

    @property
    def tags(self) -> list[str]:
        """The named containers without repetitions; empty: none was named."""
        named = [*([self.container_tag] if self.container_tag else []), *(self.container_tags or [])]
        return list(dict.fromkeys(named))
