"""Bodies of v3 container tags and settings, and of v4 buckets."""

from typing import Annotated, Any, ClassVar

from pydantic import ConfigDict, Field

from schemas.http.field_types import BucketName, SupportingContext, Text
from schemas.http.v3_v4.lenient_body import ContainerTag, LenientBody
from schemas.limits import MAX_BUCKET_DESCRIPTION_LENGTH, MAX_BUCKETS


class BucketDefinition(LenientBody):
    key: BucketName
    description: Annotated[Text, Field(max_length=MAX_BUCKET_DESCRIPTION_LENGTH)] = ""


Buckets = Annotated[list[BucketDefinition], Field(max_length=MAX_BUCKETS)]


class UpdateContainerTagBody(LenientBody):
    """Changes to a container; `entity_context` null or empty clears it."""

    cleared_by_null: ClassVar[frozenset[str]] = frozenset({"entityContext"})

    entity_context: SupportingContext | None = None
    profile_buckets: Buckets | None = None
    name: Text | None = None
    memory_filesystem_paths: list[Text] | None = None


class MergeBody(LenientBody):
    container_tags: Annotated[list[ContainerTag], Field(min_length=1)]
    target_container_tag: ContainerTag


class UpdateSettingsBody(LenientBody):
    """Changes to the organization's settings; the fields not named here are refused by name."""

    cleared_by_null: ClassVar[frozenset[str]] = frozenset({"filterPrompt"})
    model_config = ConfigDict(extra="allow")

    filter_prompt: SupportingContext | None = None
    should_llm_filter: Annotated[bool | None, Field(alias="shouldLLMFilter")] = None  # a prompt that is set is used
    profile_buckets: Buckets | None = None

    @property
    def unsupported_fields(self) -> dict[str, Any]:
        """Fields with a value that this service has no setting for."""
        return {name: value for name, value in (self.model_extra or {}).items() if value not in (None, False, [], {})}
