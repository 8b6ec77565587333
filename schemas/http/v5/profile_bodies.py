"""Bodies of profiles and buckets."""

from typing import Annotated

from pydantic import Field, field_validator

from schemas.base import RequestBody, ResponseBody
from schemas.http.field_types import BucketName, Omittable, Text
from schemas.http.filter_parsing import Filter
from schemas.limits import MAX_BUCKET_DESCRIPTION_LENGTH, MAX_BUCKETS

RESERVED_BUCKETS = frozenset({"static", "dynamic"})
"""Sections of every profile, which no bucket may be named after."""

BucketDescription = Annotated[Text, Field(max_length=MAX_BUCKET_DESCRIPTION_LENGTH)]


class ProfileBody(RequestBody):
    """Filter of the memories, and the buckets to show (default: all)."""

    filter: Omittable[Filter] = None
    buckets: Omittable[Annotated[list[BucketName], Field(max_length=MAX_BUCKETS)]] = None


class ProfileFact(ResponseBody):
    """Memory of a profile; ids of facts made of several memories begin with `aggregated_`."""

    id: str
    memory: str


class Profile(ResponseBody):
    """static: lasting; dynamic: recent; buckets: by the namespace's own sections."""

    static: list[ProfileFact]
    dynamic: list[ProfileFact]
    buckets: dict[str, list[ProfileFact]]


class ProfileResponse(ResponseBody):
    """The profile of a namespace."""

    profile: Profile


class SetBucketsBody(RequestBody):
    """Buckets to add or redefine: name to description."""

    buckets: dict[BucketName, BucketDescription]

    @field_validator("buckets")
    @classmethod
    def _validate_names(cls, buckets: dict[str, str]) -> dict[str, str]:
        if not 1 <= len(buckets) <= MAX_BUCKETS:
            raise ValueError(f"give 1 to {MAX_BUCKETS} buckets, not {len(buckets)}")
        if taken := RESERVED_BUCKETS & buckets.keys():
            raise ValueError(f"{', '.join(sorted(taken))}: every profile has this section already")
        return buckets


class DeleteBucketsBody(RequestBody):
    """Names of buckets to remove; unknown ones are ignored."""

    buckets: Annotated[list[BucketName], Field(min_length=1, max_length=MAX_BUCKETS)]

    @field_validator("buckets")
    @classmethod
    def _reject_duplicates(cls, buckets: list[str]) -> list[str]:
        if len(set(buckets)) < len(buckets):
            raise ValueError("names a bucket twice")
        return buckets


class BucketsResponse(ResponseBody):
    """The buckets in effect: the organization's and the namespace's, name to description."""

    buckets: dict[str, str]
