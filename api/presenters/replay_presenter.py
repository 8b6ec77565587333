"""Request and response bodies of replays."""

from pipeline.store.generations.replay_request import ReplayPlan, ReplayProgress, ReplayRequest
from schemas.base import format_optional_timestamp
from schemas.http.extensions.replay_bodies import (
    IndexConfigResponse,
    ReplayBody,
    ReplayPlanResponse,
    ReplayProgressResponse,
)


def replay_request(body: ReplayBody) -> ReplayRequest:
    return ReplayRequest(**dict(body))


def replay_progress_response(progress: ReplayProgress) -> ReplayProgressResponse:
    return ReplayProgressResponse(
        state=progress.state,
        generation=progress.generation,
        step=progress.step,
        read=progress.read,
        total=progress.total,
        started_at=format_optional_timestamp(progress.started_at),
        ended_at=format_optional_timestamp(progress.ended_at),
        error=progress.error,
        differences=list(progress.differences),
    )


def replay_plan_response(plan: ReplayPlan) -> ReplayPlanResponse:
    config = IndexConfigResponse.model_validate(plan.index_config.model_dump(), by_name=True)
    return ReplayPlanResponse(
        current=plan.current,
        previous=plan.previous,
        index_config=config,
        records=plan.records,
        documents=plan.documents,
        chunks=plan.chunks,
        memories=plan.memories,
        bytes=plan.bytes,
    )
