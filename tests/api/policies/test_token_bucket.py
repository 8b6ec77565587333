"""A bucket gives what its limit says, and its headers tell the truth."""

from hypothesis import given, settings
from hypothesis import strategies as st

from api.policies.token_bucket import WINDOW_SECONDS, RateLimitDecision, RateLimiter, TokenBucket, take_token

LIMITS = st.integers(min_value=1, max_value=5000)
GAPS = st.lists(st.floats(min_value=0, max_value=30, allow_nan=False), max_size=60)


def request_times(limit: int, gaps: list[float]) -> list[tuple[float, RateLimitDecision]]:
    """Requests with these seconds between them, and what became of each."""
    bucket: TokenBucket | None = None
    now, answers = 0.0, []
    for gap in gaps:
        now += gap
        bucket, pace = take_token(bucket, limit, now)
        answers.append((now, pace))
    return answers


@settings(max_examples=50)
@given(LIMITS, GAPS)
def test_in_any_window_no_more_are_allowed_than_a_full_bucket_and_what_ran_into_it(
    limit: int, gaps: list[float]
) -> None:
    allowed = [now for now, pace in request_times(limit, gaps) if pace.allowed]
    for first, start in enumerate(allowed):
        for last, end in enumerate(allowed[first:], first):
            assert last - first + 1 <= limit + (end - start) * limit / WINDOW_SECONDS + 1e-6


@settings(max_examples=50)
@given(LIMITS, st.integers(min_value=0, max_value=200))
def test_a_fresh_key_may_use_all_of_its_limit_at_once_and_not_one_more(limit: int, more: int) -> None:
    answers = [pace.allowed for _, pace in request_times(limit, [0.0] * (min(limit, 200) + more))]
    assert answers.count(True) == min(limit, len(answers))
    assert all(answers[: answers.count(True)])


@settings(max_examples=50)
@given(LIMITS, GAPS)
def test_who_comes_back_when_told_to_is_served(limit: int, gaps: list[float]) -> None:
    bucket: TokenBucket | None = None
    now = 0.0
    for gap in [*gaps, *[0.0] * min(limit + 1, 300)]:
        now += gap
        bucket, pace = take_token(bucket, limit, now)
        assert 0 <= pace.remaining <= limit
        if not pace.allowed:
            _, later = take_token(bucket, limit, now + pace.reset_seconds)
            assert later.allowed


def test_a_clock_that_stands_still_or_goes_back_fills_nothing() -> None:
    bucket, _ = take_token(TokenBucket(0.0, 100.0), 60, 100.0)
    assert not take_token(bucket, 60, 90.0)[1].allowed


def test_the_headers_are_those_of_the_draft() -> None:
    pace = RateLimitDecision(allowed=True, limit=600, remaining=599, reset_seconds=1)
    assert pace.headers() == [
        (b"ratelimit-policy", b'"key";q=600;w=60'),
        (b"ratelimit", b'"key";r=599;t=1'),
    ]


def test_each_key_has_its_bucket_and_its_own_limit_before_that_of_all() -> None:
    paces = RateLimiter(default_limit=2, clock=lambda: 0.0)
    assert [pace.allowed for _ in range(3) if (pace := paces.acquire("a", None))] == [True, True, False]
    assert [pace.allowed for _ in range(3) if (pace := paces.acquire("b", 3))] == [True, True, True]
    assert RateLimiter().acquire("a", None) is None
