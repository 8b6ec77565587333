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


@pytest.mark.parametrize(
    ("command", "refused"),
    [
        (("delete", "alice?", "--everything", "--yes"), "A namespace has letters"),
        (("delete", "alice/document", "--everything", "--yes"), "A namespace has letters"),
        (("list", "../admin"), "A namespace has letters"),
        (("audit", "--reads", "alice#"), "A namespace has letters"),
        (("add", "alice", "A text.", "--date", "yesterday"), "yesterday is no date"),
        (("add", "alice", "A text.", "--date", "12.03.2025"), "12.03.2025 is no date"),
    ],
    ids=" ".join,
)
def test_an_argument_that_would_mean_something_else_is_refused(command: tuple[str, ...], refused: str) -> None:
    result = CliRunner().invoke(app, command)
    assert (result.exit_code, refused in result.stderr) == (2, True)


@pytest.mark.parametrize("date", ["2025", "2025-03", "2025-03-12", "2025-03-12T10:30:00+01:00"])
def test_a_date_may_be_a_year_a_month_a_day_or_a_time(date: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = list[bytes]()

    def answer(request: httpx2.Request) -> httpx2.Response:
        sent.append(request.read())
        return httpx2.Response(200, json={"id": "d"})

    with httpx2.Client(transport=httpx2.MockTransport(answer), base_url="http://test") as client:
        monkeypatch.setattr(RemoteService, "from_options", lambda *_: RemoteService(client))
        assert CliRunner().invoke(app, ["add", "alice", "A text.", "--date", date]).exit_code == 0
    assert date.encode() in sent[0]


def test_a_document_is_fetched_whatever_its_id_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[bytes]()

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request.url.raw_path)
        return httpx2.Response(404, json={})

    with httpx2.Client(transport=httpx2.MockTransport(answer), base_url="http://test") as client:
        monkeypatch.setattr(RemoteService, "from_options", lambda *_: RemoteService(client))
        CliRunner().invoke(app, ["get", "alice", "notes/may?"])
    assert asked[0].startswith(b"/ns/alice/document/notes%2Fmay%3F?")


def test_a_search_without_results_says_that_there_is_no_such_namespace(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        found = request.method == "POST"
        return httpx2.Response(200 if found else 404, json={"results": [], "searchTime": 1.0} if found else {})

    with httpx2.Client(transport=httpx2.MockTransport(answer), base_url="http://test") as client:
        monkeypatch.setattr(RemoteService, "from_options", lambda *_: RemoteService(client))
        said = CliRunner().invoke(app, ["search", "alcie", "where"]).stderr
    assert said == "There is no namespace alcie: `recollect namespaces` lists those that exist.\n"
