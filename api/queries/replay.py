"""Replays as the interface shows them."""

from pipeline.replay.order import Order, Plan, Progress
from schemas.base import timestamp
from schemas.http.replay import RecipeAnswer, ReplayAnswer, ReplayBody, ReplayPlan


def ordered(body: ReplayBody) -> Order:
    """What is asked for."""
    return Order(**dict(body))


def shown(progress: Progress) -> ReplayAnswer:
    """How it goes."""
    return ReplayAnswer(
        state=progress.state,
        generation=progress.generation,
        step=progress.step,
        read=progress.read,
        total=progress.total,
        started_at=None if progress.started_at is None else timestamp(progress.started_at),
        ended_at=None if progress.ended_at is None else timestamp(progress.ended_at),
        error=progress.error,
        differences=list(progress.differences),
    )


def planned(plan: Plan) -> ReplayPlan:
    """What it would do."""
    recipe = RecipeAnswer.model_validate(plan.recipe.model_dump(), by_name=True)
    return ReplayPlan(
        current=plan.current,
        previous=plan.previous,
        recipe=recipe,
        records=plan.records,
        documents=plan.documents,
        chunks=plan.chunks,
        memories=plan.memories,
        bytes=plan.bytes,
    )
