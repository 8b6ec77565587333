"""Small rules of the interface, without HTTP."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.policies.feedback_limiter import (
    DAILY_ANONYMOUS_LIMIT,
    DAILY_LIMIT_PER_SENDER,
    FeedbackLimiter,
    seconds_to_midnight,
    sender_from_address,
)
from schemas.events import FeedbackSubmitted
from tests.support.fakes import EPOCH


def test_anonymous_feedback_shares_a_daily_pool() -> None:
    quota = FeedbackLimiter()
    taken = 0
    for number in range(100):
        if quota.remaining(f"10.0.0.{number}", authenticated=False, now=EPOCH):
            quota.record(f"10.0.0.{number}", authenticated=False, now=EPOCH)
            taken += 1
    assert taken == DAILY_ANONYMOUS_LIMIT
    assert quota.remaining("organization", authenticated=True, now=EPOCH) == DAILY_LIMIT_PER_SENDER


def test_a_quota_is_rebuilt_from_the_log() -> None:
    quota = FeedbackLimiter()
    yesterday = datetime(2025, 12, 31, 23, tzinfo=UTC)
    events = [
        FeedbackSubmitted(
            id="a", at=at, sender="organization", authenticated=True, type="bug", title="t", description="d"
        )
        for at in (EPOCH, yesterday)
    ]
    quota.restore(events, EPOCH)
    assert quota.remaining("organization", authenticated=True, now=EPOCH) == DAILY_LIMIT_PER_SENDER - 1


@pytest.mark.parametrize(
    ("host", "sender"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8::1", "2001:db8::/64"),
        ("2001:db8::ffff:1", "2001:db8::/64"),
        ("testclient", "anonymous"),
        (None, "anonymous"),
    ],
)
def test_an_anonymous_sender_is_an_address_or_an_ipv6_network(host: str | None, sender: str) -> None:
    assert sender_from_address(host) == sender


@given(st.datetimes(timezones=st.just(UTC)))
def test_midnight_is_always_ahead_and_within_a_day(now: datetime) -> None:
    if now.date() < datetime.max.replace(tzinfo=UTC).date():
        assert 1 <= seconds_to_midnight(now) <= 24 * 60 * 60
