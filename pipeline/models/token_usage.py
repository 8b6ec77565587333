"""Token usage of language models, as events of the log."""

from datetime import datetime
from typing import Literal

from pipeline.ports import Publisher, TokenUsage
from schemas.events import ModelUsageRecorded, QueryRewriteOutcome
from schemas.topics import USAGE_RECORDED

Purpose = Literal["memories", "queries"]
Outcome = Literal["formed", "unusable"] | QueryRewriteOutcome


async def publish_token_usage(
    publisher: Publisher,
    incarnation: str,
    at: datetime,
    model: str,
    token_usage: TokenUsage,
    *,
    purpose: Purpose,
    outcome: Outcome,
    documents: int = 0,
) -> None:
    """Publish what one question to a model took; `documents`: how many it was about."""
    event = ModelUsageRecorded(
        incarnation=incarnation,
        at=at,
        purpose=purpose,
        model=model,
        outcome=outcome,
        documents=documents,
        calls=token_usage.calls,
        input_tokens=token_usage.input_tokens,
        output_tokens=token_usage.output_tokens,
        seconds=round(token_usage.seconds, 3),
    )
    await publisher.publish(USAGE_RECORDED, [(incarnation, event)])
