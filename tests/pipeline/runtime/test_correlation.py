"""Correlation of events with requests, including batches with records of several requests."""

from pipeline.runtime import correlation
from pipeline.runtime.correlation import (
    REQUEST_ID_HEADER,
    Correlation,
    correlate,
    correlation_headers,
    correlation_scope,
)
from schemas.base import Event
from schemas.events import MemoriesFormed, OperationRequested
from tests.support.fakes import EPOCH


def formed(document: str, seq: int) -> MemoriesFormed:
    return MemoriesFormed(incarnation="alice#0", document=document, seq=seq, at=EPOCH, memories=())


def operation(name: str) -> OperationRequested:
    return OperationRequested(id=name, kind="purge", source=name, incarnations=(), at=EPOCH)


def request_headers(request: str) -> dict[str, str]:
    return {REQUEST_ID_HEADER: request}


def test_outside_a_request_there_is_no_request_id() -> None:
    assert correlation_headers(formed("d", 1)) == {}
    assert correlation.current_request_id() is None


def test_events_inside_a_request_carry_its_id_and_later_ones_do_not() -> None:
    with correlation_scope(Correlation(default="r1")):
        assert correlation_headers(formed("d", 1)) == request_headers("r1")
        assert correlation.current_request_id() == "r1"
    assert correlation_headers(formed("d", 1)) == {}


def test_each_document_of_a_batch_keeps_its_own_request() -> None:
    batch: list[tuple[Event, int, dict[str, str]]] = [
        (formed("a", 1), 10, request_headers("r1")),
        (formed("b", 2), 11, request_headers("r2")),
        (formed("a", 3), 12, request_headers("r3")),
        (formed("c", 4), 13, {}),
    ]
    with correlation_scope(correlate(batch)):
        assert correlation_headers(formed("a", 1)) == request_headers("r1")
        assert correlation_headers(formed("b", 2)) == request_headers("r2")
        assert correlation_headers(formed("a", 3)) == request_headers("r3")
        assert correlation_headers(formed("a", 99)) == request_headers("r3"), (
            "an unknown submission gets the newest request of its document"
        )
        assert correlation_headers(formed("c", 4)) == {}
        assert correlation_headers(operation("ns")) == {}, "an event without a document has no unique request"
        assert correlation.current_request_id() is None


def test_a_batch_of_one_request_passes_its_id_to_every_event() -> None:
    with correlation_scope(
        correlate([(operation("ns"), 0, request_headers("r1")), (operation("ns"), 1, request_headers("r1"))])
    ):
        assert correlation_headers(formed("any", 1)) == request_headers("r1")
