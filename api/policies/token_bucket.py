"""Rate limits: one token bucket per key and per tree of keys, and the RateLimit headers."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from math import ceil
from typing import Final

WINDOW_SECONDS: Final = 60
"""Window of a rate, in seconds."""
POLICY_NAME: Final = b"key"
"""Policy name in the headers."""
_TOKEN_TOLERANCE: Final = 1e-6
"""Rounding tolerance in tokens: a client that waits exactly the announced time is served."""
RATE_LIMIT_SCOPE_KEY: Final = "recollect.rate_limit"
"""Scope key of the request's `RateLimitDecision`."""


@dataclass(frozen=True, slots=True)
class TokenBucket:
    """Tokens at a time, in seconds of a monotonic clock."""

    tokens: float
    updated_at: float


@dataclass(frozen=True, slots=True)
class RateLimitDecision:
    """Decision on a request: `remaining` further requests now, `reset_seconds` until the next token."""

    allowed: bool
    limit: int
    remaining: int
    reset_seconds: int

    def headers(self) -> list[tuple[bytes, bytes]]:
        """RateLimit and RateLimit-Policy (draft-ietf-httpapi-ratelimit-headers-11)."""
        return [
            (b"ratelimit-policy", b'"%b";q=%d;w=%d' % (POLICY_NAME, self.limit, WINDOW_SECONDS)),
            (b"ratelimit", b'"%b";r=%d;t=%d' % (POLICY_NAME, self.remaining, self.reset_seconds)),
        ]


def take_token(bucket: TokenBucket | None, limit: int, now: float) -> tuple[TokenBucket, RateLimitDecision]:
    """Take a token from a bucket of `limit` tokens, refilled within a minute; None: a full bucket."""
    rate = limit / WINDOW_SECONDS
    tokens = float(limit)
    if bucket is not None:
        tokens = min(float(limit), bucket.tokens + max(0.0, now - bucket.updated_at) * rate)
    allowed = tokens >= 1 - _TOKEN_TOLERANCE
    if allowed:
        tokens = max(0.0, tokens - 1)
    remaining = int(tokens)
    seconds = max(1, ceil((remaining + 1 - tokens) / rate))
    return TokenBucket(tokens, now), RateLimitDecision(
        allowed=allowed, limit=limit, remaining=remaining, reset_seconds=seconds
    )


@dataclass(slots=True)
class RateLimiter:
    """Buckets of this process. `default_limit`: requests per minute of keys without a limit of their own."""

    default_limit: int | None = None
    clock: Callable[[], float] = time.monotonic
    _buckets: dict[str, TokenBucket] = field(default_factory=dict)

    def acquire(
        self, key: str, key_limit: int | None, heads: Iterable[tuple[str, int | None]] = ()
    ) -> RateLimitDecision | None:
        """Decide on a request of a key; None: the key has no limit.

        `heads`: keys above this one, with their limits: all keys below a head share its rate, beside the head,
        which can still revoke them. The decision is the first refusal, else the one that leaves the fewest requests.
        """
        decisions = []
        for bucket, own_limit in ((key, key_limit), *((f"{head}/*", limit) for head, limit in heads)):
            if (limit := own_limit or self.default_limit) is not None:
                self._buckets[bucket], decision = take_token(self._buckets.get(bucket), limit, self.clock())
                if not decision.allowed:
                    return decision
                decisions.append(decision)
        return min(decisions, key=lambda decision: decision.remaining, default=None)
