"""How fast a key may ask: a token bucket each, pure, and the headers that tell of it."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil
from typing import Final

WINDOW: Final = 60
"""Seconds that a rate is given for."""
POLICY: Final = b"key"
"""The policy's name in the headers."""
_ROUNDING: Final = 1e-6
"""Of a token: who comes back after exactly the seconds that were said is served."""
PACE: Final = "recollect.pace"
"""Where a request keeps the `Pace` of its key."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """So many tokens there were at that time, in seconds of a clock that never goes back."""

    tokens: float
    at: float


@dataclass(frozen=True, slots=True)
class Pace:
    """What became of a request: `left` more at once, and `seconds` until there is one more than that."""

    allowed: bool
    limit: int
    left: int
    seconds: int

    def headers(self) -> list[tuple[bytes, bytes]]:
        """RateLimit and RateLimit-Policy (draft-ietf-httpapi-ratelimit-headers-11)."""
        return [
            (b"ratelimit-policy", b'"%b";q=%d;w=%d' % (POLICY, self.limit, WINDOW)),
            (b"ratelimit", b'"%b";r=%d;t=%d' % (POLICY, self.left, self.seconds)),
        ]


def paced(bucket: Bucket | None, limit: int, now: float) -> tuple[Bucket, Pace]:
    """Take a token from a bucket of `limit`, which fills in a minute; None: one nobody took from yet."""
    rate = limit / WINDOW
    tokens = float(limit)
    if bucket is not None:
        tokens = min(float(limit), bucket.tokens + max(0.0, now - bucket.at) * rate)
    allowed = tokens >= 1 - _ROUNDING
    if allowed:
        tokens = max(0.0, tokens - 1)
    left = int(tokens)
    seconds = max(1, ceil((left + 1 - tokens) / rate))
    return Bucket(tokens, now), Pace(allowed=allowed, limit=limit, left=left, seconds=seconds)


@dataclass(slots=True)
class Paces:
    """The buckets of this process. `default`: requests a minute of a key that has no limit of its own."""

    default: int | None = None
    clock: Callable[[], float] = time.monotonic
    _buckets: dict[str, Bucket] = field(default_factory=dict)

    def take(self, key: str, own: int | None) -> Pace | None:
        """One request of a key; None: it has no limit."""
        limit = own or self.default
        if limit is None:
            return None
        self._buckets[key], pace = paced(self._buckets.get(key), limit, self.clock())
        return pace
