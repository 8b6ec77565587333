"""Valid times parsed from documents' dates."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.memory.versioning.fact_comparison import parse_valid_time

RECEIVED_AT = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("stated", "when"),
    [
        ("2023", datetime(2023, 1, 1, tzinfo=UTC)),
        ("2023-05", datetime(2023, 5, 1, tzinfo=UTC)),
        (" 2023-05-08 ", datetime(2023, 5, 8, tzinfo=UTC)),
        ("2023-05-08T10:00:00+02:00", datetime(2023, 5, 8, 8, tzinfo=UTC)),
        ("last May", RECEIVED_AT),
        ("2023-13", RECEIVED_AT),
        ("", RECEIVED_AT),
        (None, RECEIVED_AT),
    ],
)
def test_partial_dates_are_parsed(stated: str | None, when: datetime) -> None:
    assert parse_valid_time(stated, RECEIVED_AT) == when


@given(
    st.one_of(
        st.text(),
        st.datetimes(timezones=st.none() | st.timezones()).map(datetime.isoformat),
        st.sampled_from(["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59.999999-14:00"]),
    )
)
def test_valid_times_leave_room_for_arithmetic(stated: str) -> None:
    when = parse_valid_time(stated, RECEIVED_AT)
    assert when - timedelta(days=1) < when.astimezone(UTC) < when + timedelta(days=1)
