"""When a fact holds, by what its document says."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.memory.relations import moment

CAME = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("stated", "when"),
    [
        ("2023", datetime(2023, 1, 1, tzinfo=UTC)),
        ("2023-05", datetime(2023, 5, 1, tzinfo=UTC)),
        (" 2023-05-08 ", datetime(2023, 5, 8, tzinfo=UTC)),
        ("2023-05-08T10:00:00+02:00", datetime(2023, 5, 8, 8, tzinfo=UTC)),
        ("last May", CAME),
        ("2023-13", CAME),
        ("", CAME),
        (None, CAME),
    ],
)
def test_the_date_of_a_document_is_read_as_far_as_it_goes(stated: str | None, when: datetime) -> None:
    assert moment(stated, CAME) == when


@given(
    st.one_of(
        st.text(),
        st.datetimes(timezones=st.none() | st.timezones()).map(datetime.isoformat),
        st.sampled_from(["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59.999999-14:00"]),
    )
)
def test_there_is_room_around_every_moment(stated: str) -> None:
    when = moment(stated, CAME)
    assert when - timedelta(days=1) < when.astimezone(UTC) < when + timedelta(days=1)
