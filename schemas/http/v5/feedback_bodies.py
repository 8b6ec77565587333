"""Feedback to the operators of a deployment."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from schemas.base import RequestBody, ResponseBody
from schemas.http.field_types import NumberTypedInt, Omittable, Text

EMAIL_PATTERN = (
    r"^(?:[A-Za-z0-9_'+\-]+\.)*[A-Za-z0-9_'+\-]*[A-Za-z0-9_+-]@(?:[A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$"
)


class FeedbackBody(RequestBody):
    """Feedback of a user. Unknown fields are ignored, as the contract specifies only for this body."""

    model_config = ConfigDict(extra="ignore")

    type: Literal["bug", "feature_request", "docs", "other"]
    title: Annotated[Text, Field(min_length=1, max_length=120)]
    description: Annotated[Text, Field(min_length=1, max_length=5000)]
    endpoint: Omittable[Annotated[Text, Field(max_length=200)]] = None
    request_id: Omittable[Annotated[Text, Field(max_length=200)]] = None
    expected: Omittable[Annotated[Text, Field(max_length=2000)]] = None
    actual: Omittable[Annotated[Text, Field(max_length=2000)]] = None
    client: Omittable[Annotated[Text, Field(max_length=200)]] = None
    contact_email: Omittable[
        Annotated[str, Field(max_length=320, pattern=EMAIL_PATTERN, json_schema_extra={"format": "email"})]
    ] = None


class FeedbackResponse(ResponseBody):
    """`remaining` submissions until midnight UTC."""

    id: str
    remaining: NumberTypedInt
