"""Feedback to the operators of a deployment."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from schemas.base import Answer, Body
from schemas.http.parts import Maybe, Quantity, Text

EMAIL_PATTERN = (
    r"^(?:[A-Za-z0-9_'+\-]+\.)*[A-Za-z0-9_'+\-]*[A-Za-z0-9_+-]@(?:[A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$"
)


class FeedbackBody(Body):
    """What a user has to say. Unknown fields are ignored, as the contract has it here and only here."""

    model_config = ConfigDict(extra="ignore")

    type: Literal["bug", "feature_request", "docs", "other"]
    title: Annotated[Text, Field(min_length=1, max_length=120)]
    description: Annotated[Text, Field(min_length=1, max_length=5000)]
    endpoint: Maybe[Annotated[Text, Field(max_length=200)]] = None
    request_id: Maybe[Annotated[Text, Field(max_length=200)]] = None
    expected: Maybe[Annotated[Text, Field(max_length=2000)]] = None
    actual: Maybe[Annotated[Text, Field(max_length=2000)]] = None
    client: Maybe[Annotated[Text, Field(max_length=200)]] = None
    contact_email: Maybe[
        Annotated[str, Field(max_length=320, pattern=EMAIL_PATTERN, json_schema_extra={"format": "email"})]
    ] = None


class FeedbackAnswer(Answer):
    """`remaining` submissions until midnight UTC."""

    id: str
    remaining: Quantity
