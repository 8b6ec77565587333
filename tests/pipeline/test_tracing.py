"""Which request an event goes back to, also where a batch holds records of many."""

from pipeline import tracing
from pipeline.tracing import REQUEST_ID, Origins, headers, origins, within
from schemas.base import Event
from schemas.events import MemoriesFormed, OperationRequested
from tests.fakes import EPOCH


def formed(document: str, seq: int) -> MemoriesFormed:
    return MemoriesFormed(space="alice#0", document=document, seq=seq, at=EPOCH, memories=())


def asked(name: str) -> OperationRequested:
    return OperationRequested(id=name, kind="purge", source=name, spaces=(), at=EPOCH)


def by(request: str) -> dict[str, str]:
    return {REQUEST_ID: request}


def test_outside_of_any_request_nothing_is_said() -> None:
    assert headers(formed("d", 1)) == {}
    assert tracing.request_id() is None


def test_everything_within_a_request_goes_back_to_it_and_nothing_after_it() -> None:
    with within(Origins(all="r1")):
        assert headers(formed("d", 1)) == by("r1")
        assert tracing.request_id() == "r1"
    assert headers(formed("d", 1)) == {}


def test_each_document_of_a_batch_keeps_its_own_request() -> None:
    batch: list[tuple[Event, int, dict[str, str]]] = [
        (formed("a", 1), 10, by("r1")),
        (formed("b", 2), 11, by("r2")),
        (formed("a", 3), 12, by("r3")),
        (formed("c", 4), 13, {}),
    ]
    with within(origins(batch)):
        assert headers(formed("a", 1)) == by("r1")
        assert headers(formed("b", 2)) == by("r2")
        assert headers(formed("a", 3)) == by("r3")
        assert headers(formed("a", 99)) == by("r3"), "another submission: the newest that is known"
        assert headers(formed("c", 4)) == {}
        assert headers(asked("ns")) == {}, "of no document, so it could be anybody's"
        assert tracing.request_id() is None


def test_a_batch_of_one_request_gives_it_to_all_that_comes_of_it() -> None:
    with within(origins([(asked("ns"), 0, by("r1")), (asked("ns"), 1, by("r1"))])):
        assert headers(formed("any", 1)) == by("r1")
