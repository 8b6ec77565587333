"""Daily feedback limits: 3 per organization or address, within a daily total."""

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta
from ipaddress import ip_address, ip_network

from schemas.events import FeedbackSubmitted

DAILY_LIMIT_PER_SENDER = 3
DAILY_AUTHENTICATED_LIMIT = 200
DAILY_ANONYMOUS_LIMIT = 20
ORGANIZATION_SENDER = "organization"


class FeedbackLimiter:
    """Counts of the current UTC day in this process; `restore` them from the log at startup."""

    def __init__(self) -> None:
        self._day: date | None = None
        self._senders: Counter[str] = Counter()
        self._totals: Counter[bool] = Counter()

    def remaining(self, sender: str, *, authenticated: bool, now: datetime) -> int:
        """Return how many more submissions the sender has today."""
        self._reset_on_new_day(now)
        pool = DAILY_AUTHENTICATED_LIMIT if authenticated else DAILY_ANONYMOUS_LIMIT
        return max(0, min(DAILY_LIMIT_PER_SENDER - self._senders[sender], pool - self._totals[authenticated]))

    def record(self, sender: str, *, authenticated: bool, now: datetime) -> None:
        self._reset_on_new_day(now)
        self._senders[sender] += 1
        self._totals[authenticated] += 1

    def restore(self, events: Iterable[FeedbackSubmitted], now: datetime) -> None:
        """Count today's submissions in the log."""
        self._reset_on_new_day(now)
        for event in events:
            if event.at.astimezone(UTC).date() == self._day:
                self.record(event.sender, authenticated=event.authenticated, now=now)

    def _reset_on_new_day(self, now: datetime) -> None:
        today = now.astimezone(UTC).date()
        if today != self._day:
            self._day = today
            self._senders.clear()
            self._totals.clear()


def seconds_to_midnight(now: datetime) -> int:
    """Return the seconds until 00:00 UTC, at least 1."""
    now = now.astimezone(UTC)
    midnight = datetime.combine(now.date() + timedelta(days=1), time(), UTC)
    return max(1, int((midnight - now).total_seconds()))


def sender_from_address(host: str | None) -> str:
    """Return an anonymous sender: the IPv4 address, or the /64 network of an IPv6 address."""
    try:
        address = ip_address(host or "")
    except ValueError:
        return "anonymous"
    if address.version == 4:
        return str(address)
    return str(ip_network(f"{address}/64", strict=False))
