"""Per-process rate limits, quotas, feedback limits, upload slots and audit."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from api.policies.audit_log import AuditLog
from api.policies.feedback_limiter import FeedbackLimiter
from api.policies.monthly_quotas import MonthlyQuota, MonthlyQuotas
from api.policies.recall_log import RecallLog
from api.policies.token_bucket import RateLimiter
from pipeline.bus.port import Bus
from pipeline.ports import Clock
from pipeline.settings import Settings
from pipeline.usage_counter import replicate_usage
from schemas.events import FeedbackSubmitted
from schemas.topics import FEEDBACK_SUBMITTED


@dataclass(frozen=True, slots=True)
class RequestPolicies:
    """Policies of a process, kept over a switch of generations; quotas are counted across all processes."""

    audit: AuditLog
    recalls: RecallLog
    rate_limiter: RateLimiter = field(default_factory=RateLimiter)
    quotas: MonthlyQuotas = field(default_factory=MonthlyQuotas)
    feedback_limiter: FeedbackLimiter = field(default_factory=FeedbackLimiter)
    upload_slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(2))
    """Bounds how many uploaded files are in memory at once."""


@asynccontextmanager
async def open_request_policies(settings: Settings, bus: Bus, clock: Clock) -> AsyncIterator[RequestPolicies]:
    """Build the policies from settings, with this month's usage and today's feedback so far."""
    quotas = MonthlyQuotas(
        organization_quota=MonthlyQuota(settings.monthly_documents, settings.monthly_searches),
        default_key_quota=MonthlyQuota(settings.key_monthly_documents, settings.key_monthly_searches),
    )
    async with replicate_usage(quotas.usage, bus, clock):
        feedback_limiter = FeedbackLimiter()
        events = [
            FeedbackSubmitted.model_validate_json(record.value) async for record in bus.read(FEEDBACK_SUBMITTED.name)
        ]
        feedback_limiter.restore(events, clock.now())
        audit = AuditLog(bus)
        yield RequestPolicies(audit, RecallLog(bus), RateLimiter(settings.rate_limit), quotas, feedback_limiter)
        await audit.write_counted()
