"""Profiles and their buckets."""

from typing import Annotated

from pydantic import Field, field_validator

from schemas.base import Answer, Body
from schemas.http.filters import Filter
from schemas.http.parts import BucketName, Maybe, Text
from schemas.limits import BUCKET_DESCRIPTION_LENGTH, BUCKETS

RESERVED_BUCKETS = frozenset({"static", "dynamic"})
"""Sections of every profile, so no bucket may be called so."""

BucketDescription = Annotated[Text, Field(max_length=BUCKET_DESCRIPTION_LENGTH)]


class ProfileBody(Body):
    """Which memories to regard, and which buckets to show (all when left out)."""

    filter: Maybe[Filter] = None
    buckets: Maybe[Annotated[list[BucketName], Field(max_length=BUCKETS)]] = None


class ProfileFact(Answer):
    """One memory of a profile; ids of facts made of several memories begin with `aggregated_`."""

    id: str
    memory: str


class Profile(Answer):
    """static: lasting; dynamic: recent; buckets: by the namespace's own sections."""

    static: list[ProfileFact]
    dynamic: list[ProfileFact]
    buckets: dict[str, list[ProfileFact]]


class ProfileAnswer(Answer):
    """The profile of a namespace."""

    profile: Profile


class SetBucketsBody(Body):
    """Buckets to add or redefine: name to description."""

    buckets: dict[BucketName, BucketDescription]

    @field_validator("buckets")
    @classmethod
    def _bounded(cls, buckets: dict[str, str]) -> dict[str, str]:
        if not 1 <= len(buckets) <= BUCKETS:
            raise ValueError(f"give 1 to {BUCKETS} buckets, not {len(buckets)}")
        if taken := RESERVED_BUCKETS & buckets.keys():
            raise ValueError(f"{', '.join(sorted(taken))}: every profile has this section already")
        return buckets


class DeleteBucketsBody(Body):
    """Names of buckets to remove; unknown ones are ignored."""

    buckets: Annotated[list[BucketName], Field(min_length=1, max_length=BUCKETS)]

    @field_validator("buckets")
    @classmethod
    def _unique(cls, buckets: list[str]) -> list[str]:
        if len(set(buckets)) < len(buckets):
            raise ValueError("names a bucket twice")
        return buckets


class BucketsAnswer(Answer):
    """The buckets in effect: the organization's and the namespace's, name to description."""

    buckets: dict[str, str]
