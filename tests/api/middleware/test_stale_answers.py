"""The header by which an answer says that it may lack what was acknowledged just before."""

import pytest

from app.submission_follower import SubmissionFollower
from tests.support.contract_client import ContractClient

pytestmark = pytest.mark.anyio


async def test_an_answer_without_what_the_log_has_says_so(
    client: ContractClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "x-recollect-stale" not in (await client("GET", "/organization")).headers

    async def fail_to_catch_up(_: SubmissionFollower) -> bool:
        return False

    monkeypatch.setattr(SubmissionFollower, "refresh_if_available", fail_to_catch_up)
    assert (await client("GET", "/organization")).headers["x-recollect-stale"] == "true"
