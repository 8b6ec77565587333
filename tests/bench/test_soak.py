"""Detection of growth in a soak."""

from bench.soak import ClientStatistics, Plan, Sample, detect_growth, table, unexpected_answers


def samples(resident: list[int], latency: float = 0.01, files: int = 100) -> list[Sample]:
    return [
        Sample(
            at=10.0 * n,
            cpu=0.02 * n,
            resident=value,
            descriptors=50,
            files=files,
            disk=1,
            latencies=(latency,),
        )
        for n, value in enumerate(resident, 1)
    ]


def test_what_stays_as_it_is_has_not_grown() -> None:
    assert detect_growth(samples([400_000_000] * 8), 3600) == []


def test_the_first_quarter_is_for_warming_up() -> None:
    assert detect_growth(samples([100_000_000, 200_000_000, *[400_000_000] * 6]), 3600) == []


def test_memory_that_goes_on_growing_is_named() -> None:
    (fault,) = detect_growth(samples([400_000_000 + 40_000_000 * n for n in range(8)]), 60)
    assert "resident memory" in fault


def test_latency_is_judged_in_runs_that_are_long_enough() -> None:
    slower = [*samples([1] * 6, latency=0.01), *samples([1] * 2, latency=0.1)]
    assert detect_growth(slower, 60) == []
    (fault,) = detect_growth(slower, 600)
    assert "latency" in fault
    assert detect_growth(slower, 600, shared=True) == []


def test_memory_is_judged_more_strictly_in_two_minutes_whoever_else_uses_the_machine() -> None:
    growing = samples([400_000_000 + 18_000_000 * n for n in range(8)])
    assert detect_growth(growing, 60, shared=True) == []
    (fault,) = detect_growth(growing, 120, shared=True)
    assert "resident memory" in fault


def test_a_run_without_figures_is_no_proof() -> None:
    assert detect_growth([], 60)


def test_answers_that_nobody_declared_are_named_with_their_number() -> None:
    seen = ClientStatistics()
    seen.unexpected["add answered 500: x"] += 3
    assert unexpected_answers(seen) == ["3 times add answered 500: x"]


def test_the_table_has_the_run_over_time_and_each_kind_of_request() -> None:
    seen = ClientStatistics()
    seen.record("search", 0.004)
    shown = table(Plan(80.0, 64, 64.0), samples([400_000_000] * 8), seen)
    assert "64 clients" in shown
    assert "| 80 s | 2 | 10.0 ms | 10.0 ms | 400 MB | 50 | 100 | 0 MB |" in shown
    assert "| search | 1 | 4.0 ms | 4.0 ms |" in shown
    assert "20.0 ms of processor time each" in shown


def test_rejections_are_counted_by_kind_and_status() -> None:
    seen = ClientStatistics()
    for _ in range(4):
        seen.record("add", 0.004)
    seen.retry_later["add", 503] += 2
    seen.retry_later["add", 429] += 1
    shown = table(Plan(80.0, 64, 64.0), samples([400_000_000] * 8), seen)
    assert "1 add with 429, 2 add with 503 rejected, 0 undeclared answers" in shown
