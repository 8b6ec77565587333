"""What questions to language models cost, as the log has it."""

from datetime import datetime
from typing import Literal

from pipeline.ports import Publisher, Spent
from schemas.events import QueryOutcome, UsageRecorded
from schemas.topics import USAGE_RECORDED

Purpose = Literal["memories", "queries"]
Outcome = Literal["formed", "unusable"] | QueryOutcome


def usage(
    space: str,
    at: datetime,
    model: str,
    spent: Spent,
    *,
    purpose: Purpose,
    outcome: Outcome,
    documents: int = 0,
) -> UsageRecorded:
    """The event of one question; `documents`: how many it was about."""
    return UsageRecorded(
        space=space,
        at=at,
        purpose=purpose,
        model=model,
        outcome=outcome,
        documents=documents,
        calls=spent.calls,
        input_tokens=spent.input_tokens,
        output_tokens=spent.output_tokens,
        seconds=round(spent.seconds, 3),
    )


async def tell(publisher: Publisher, event: UsageRecorded) -> None:
    """Into the log."""
    await publisher.publish(USAGE_RECORDED, [(event.space, event)])
