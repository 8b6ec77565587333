"""`recollect list` and `profile` of a namespace without memories."""

import httpx2
import pytest
from typer.testing import CliRunner

from app.cli.main import app
from app.cli.remote_service import RemoteService


@pytest.mark.parametrize(("command", "missing"), [("list", "in home"), ("profile", "of home")])
def test_memories_that_are_still_to_be_formed_are_announced(
    command: str, missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = {
        "profile": {"static": [], "dynamic": [], "buckets": {}},
        "memories": [],
        "documents": [{"system": {"dreamingStatus": status}} for status in ("dreaming", "done", "dreaming")],
        "pagination": {"totalItems": 0},
    }
    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, json=answer))
    with httpx2.Client(transport=transport, base_url="http://test") as client:
        monkeypatch.setattr(RemoteService, "from_options", lambda *_: RemoteService(client))
        said = CliRunner().invoke(app, [command, "home"]).stderr
    pending = "Memories of 2 documents are still to be formed: try again soon."
    assert said == f"There are no memories {missing}.\n{pending}\n"
