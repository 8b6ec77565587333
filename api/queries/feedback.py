"""How often feedback may be given: 3 a day by the organization or by an address, within daily pools."""

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta
from ipaddress import ip_address, ip_network

from schemas.events import FeedbackSubmitted

PER_SENDER = 3
KEYED_POOL = 200
ANONYMOUS_POOL = 20
ORGANIZATION = "organization"


class Quota:
    """Counts of the present day (UTC), in this process; `restore` them from the log at a start."""

    def __init__(self) -> None:
        self._day: date | None = None
        self._senders: Counter[str] = Counter()
        self._pools: Counter[bool] = Counter()

    def remaining(self, sender: str, *, keyed: bool, now: datetime) -> int:
        """How many more today."""
        self._turn(now)
        pool = KEYED_POOL if keyed else ANONYMOUS_POOL
        return max(0, min(PER_SENDER - self._senders[sender], pool - self._pools[keyed]))

    def take(self, sender: str, *, keyed: bool, now: datetime) -> None:
        """Count one."""
        self._turn(now)
        self._senders[sender] += 1
        self._pools[keyed] += 1

    def restore(self, events: Iterable[FeedbackSubmitted], now: datetime) -> None:
        """Count what the log holds of today."""
        self._turn(now)
        for event in events:
            if event.at.astimezone(UTC).date() == self._day:
                self.take(event.sender, keyed=event.keyed, now=now)

    def _turn(self, now: datetime) -> None:
        today = now.astimezone(UTC).date()
        if today != self._day:
            self._day = today
            self._senders.clear()
            self._pools.clear()


def seconds_to_midnight(now: datetime) -> int:
    """Until 00:00 UTC, at least one."""
    here = now.astimezone(UTC)
    midnight = datetime.combine(here.date() + timedelta(days=1), time(), UTC)
    return max(1, int((midnight - here).total_seconds()))


def sender_of(host: str | None) -> str:
    """An anonymous sender: the IPv4 address, or the /64 network of an IPv6 address."""
    try:
        address = ip_address(host or "")
    except ValueError:
        return "anonymous"
    if address.version == 4:
        return str(address)
    return str(ip_network(f"{address}/64", strict=False))
