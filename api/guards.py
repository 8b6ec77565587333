"""What keeps one caller from taking what belongs to others, for as long as a process lives."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from api.audit import Audit
from api.pace import Paces
from api.quotas import Quota, Quotas
from pipeline.bus.port import Bus
from pipeline.ports import Clock
from pipeline.settings import Settings
from pipeline.usage import keeping


@dataclass(frozen=True, slots=True)
class Guards:
    """Rates are of this process; what was used is of all of them."""

    paces: Paces = field(default_factory=Paces)
    quotas: Quotas = field(default_factory=Quotas)
    audit: Audit | None = None
    """None: this process keeps none."""


@asynccontextmanager
async def open_guards(settings: Settings, bus: Bus, clock: Clock) -> AsyncIterator[Guards]:
    """As the settings say, knowing what was used before."""
    quotas = Quotas(
        organization=Quota(settings.monthly_documents, settings.monthly_searches),
        key=Quota(settings.key_monthly_documents, settings.key_monthly_searches),
    )
    async with keeping(quotas.usage, bus, clock):
        yield Guards(Paces(settings.rate_limit), quotas, Audit(bus, bus))
