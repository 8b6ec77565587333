"""CI reports skipped and failed tests truthfully. `make` is replaced by a script with a given output."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

ROOT = Path(__file__).parent.parent
PASSED = "==== 3 passed in 1.00s ===="
SOME_SKIPPED = "==== 3 passed, 1 skipped in 62.00s (0:01:02) ===="


def _run(
    folder: Path, says: str, code: int = 0, more: Mapping[str, str] = MappingProxyType({})
) -> subprocess.CompletedProcess[str]:
    make = folder / "make"
    make.write_text(f"#!/bin/sh\ncat <<'END'\n{says}\nEND\nexit {code}\n")
    make.chmod(0o755)
    own = {name: value for name, value in os.environ.items() if not name.startswith("SOAK_")}
    variables = {**own, **more, "PATH": f"{folder}:{os.environ['PATH']}"}
    return subprocess.run(  # noqa: S603 - our own script
        [ROOT / ".ci" / "run"], env=variables, capture_output=True, text=True, check=False
    )


def _last(done: subprocess.CompletedProcess[str]) -> str:
    return done.stdout.splitlines()[-1]


def test_it_ends_with_the_closing_line_of_pytest(tmp_path: Path) -> None:
    done = _run(tmp_path, f"{PASSED}\nmake: done")
    assert (done.returncode, _last(done)) == (0, PASSED)


@pytest.mark.parametrize("code", [1, 2])
def test_a_failure_is_a_failure(tmp_path: Path, code: int) -> None:
    closing = "==== 1 failed, 2 passed in 1.00s ===="
    done = _run(tmp_path, f"{closing}\nmake: *** Error", code)
    assert (done.returncode, _last(done)) == (code, closing)


def test_a_few_failures_that_pass_alone_are_named_and_forgiven(tmp_path: Path) -> None:
    failed = "FAILED tests/test_x.py::test_y - TimeoutError"
    closing = "==== 1 failed, 2 passed in 1.00s ===="
    done = _run(tmp_path, _tests_fail(f"{failed}\n{closing}", again=0))
    assert (done.returncode, _last(done)) == (0, closing)
    assert failed in done.stdout.split("Unsteady", 1)[1]


def test_a_failure_that_fails_alone_too_is_a_failure(tmp_path: Path) -> None:
    done = _run(tmp_path, _tests_fail("==== 1 failed, 2 passed in 1.00s ====", again=1))
    assert done.returncode == 2
    assert "Unsteady" not in done.stdout


def test_many_failures_are_not_repeated(tmp_path: Path) -> None:
    done = _run(tmp_path, _tests_fail("==== 6 failed, 2 passed in 1.00s ====", again=0))
    assert done.returncode == 2


def test_the_files_of_a_crash_run_once_more_and_what_its_threads_did_stands_at_the_end(tmp_path: Path) -> None:
    crash = "FAILED tests/test_x.py::test_y[a b] - worker 'gw1' crashed while running 'tests/test_x.py::test_y[a b]'"
    trace = 'Fatal Python error: Segmentation fault\n\n  File "tests/test_x.py", line 3 in test_y'
    closing = "==== 1 failed, 2 passed in 1.00s ===="
    asked = tmp_path / "asked"
    made = _tests_fail(f"{trace}\n....\n{crash}\n{closing}", again=0)
    done = _run(tmp_path, made.replace("END\n", f'END\necho "$*" >> {asked}\n', 1))
    assert (done.returncode, _last(done)) == (0, closing)
    assert "test-failed FILES=tests/test_x.py " in asked.read_text().splitlines()
    assert crash in done.stdout.split("Unsteady", 1)[1]
    assert "line 3 in test_y" in done.stdout.split("A process of the tests crashed:", 1)[1]


def _tests_fail(says: str, again: int) -> str:
    """The `make` in which the tests fail and say this, and the failed ones end with `again` when they are repeated."""
    return f"""{PASSED}
END
[ "$1" != test-failed ] || exit {again}
[ "$1" = test ] || exit 0
cat <<'OTHER'
{says}
OTHER
exit 2
cat <<'END'"""


def test_checks_that_never_came_to_the_tests_are_a_failure(tmp_path: Path) -> None:
    assert _run(tmp_path, "All good, honestly.").returncode == 1


def test_a_skipped_test_needs_a_reason_that_is_allowed(tmp_path: Path) -> None:
    allowed = "SKIPPED [1] tests/test_x.py:3: needs a peer that is not installed: git"
    assert _run(tmp_path, f"{allowed}\n{SOME_SKIPPED}").returncode == 0
    lazy = "SKIPPED [2] tests/test_x.py:9: not today"
    done = _run(tmp_path, f"{allowed}\n{lazy}\n{SOME_SKIPPED}")
    assert done.returncode == 1
    assert f"Skipped, though this machine could run it: {lazy}" in done.stdout


def test_the_kafka_suite_has_to_run(tmp_path: Path) -> None:
    skipped = "SKIPPED [9] tests/pipeline/bus/conftest.py:9: needs a real Apache Kafka: Java 17 is missing"
    assert _run(tmp_path, f"{skipped}\n{SOME_SKIPPED}").returncode == 1


def test_deselected_tests_are_a_failure(tmp_path: Path) -> None:
    assert _run(tmp_path, "==== 3 passed, 2 deselected in 1.00s ====").returncode == 1


def test_a_soak_that_fails_alone_too_is_a_failure_whose_reason_stands_at_the_end(tmp_path: Path) -> None:
    make = f"{PASSED}\nEND\n[ \"$1\" != soak ] || {{ echo '✗ memory grew'; exit 1; }}\ncat <<'END'"
    done = _run(tmp_path, make)
    assert (done.returncode, _last(done)) == (1, PASSED)
    assert "The soak failed (exit 1). Its last lines:" in done.stdout.splitlines()[-4:]
    assert done.stdout.splitlines()[-2] == "✗ memory grew"


def test_a_soak_that_fails_beside_other_work_and_passes_alone_is_forgiven(tmp_path: Path) -> None:
    soaked = tmp_path / "soaked"
    make = f"{PASSED}\nEND\n[ \"$1\" != soak ] || [ -e {soaked} ] || {{ touch {soaked}; exit 1; }}\ncat <<'END'"
    done = _run(tmp_path, make)
    assert (done.returncode, _last(done)) == (0, PASSED)
    assert "It runs once more, alone." in done.stdout


def test_a_soak_that_does_not_end_is_said_to_be_stopped(tmp_path: Path) -> None:
    make = f"{PASSED}\nEND\n[ \"$1\" != soak ] || exit 124\ncat <<'END'"
    done = _run(tmp_path, make)
    assert (done.returncode, _last(done)) == (1, PASSED)
    assert "The soak was to take 120 seconds, did not end within 520, and was stopped." in done.stdout


def test_what_reads_the_code_runs_beside_the_soak_and_the_tests_after_both(tmp_path: Path) -> None:
    """The soak here ends only when the code was read, and is seen to before the tests begin."""
    asked, read = tmp_path / "asked", tmp_path / "read"
    make = f"""{PASSED}
END
case "$1" in
  kafka) exit ;;
  soak) while [ ! -e {read} ]; do sleep 0.01; done ;;
  lint) touch {read} ;;
esac
echo "$1" >> {asked}
cat <<'END'"""
    assert _run(tmp_path, make).returncode == 0
    assert asked.read_text().split() in (["lint", "soak", "test"], ["soak", "lint", "test"])


def test_code_that_is_not_as_it_should_be_is_a_failure_and_no_test_runs(tmp_path: Path) -> None:
    asked = tmp_path / "asked"
    make = f'{PASSED}\nEND\necho "$*" >> {asked}\n[ "$1" != lint ] || exit 2\ncat <<\'END\''
    assert _run(tmp_path, make).returncode == 2
    assert "lint types imports secure docs browser" in asked.read_text().splitlines()
    assert "test" not in asked.read_text().splitlines()


@pytest.mark.parametrize(("variables", "seconds"), [({}, "120"), ({"SOAK_SECONDS": "20"}, "20")])
def test_two_minutes_are_soaked_unless_told_otherwise(tmp_path: Path, variables: dict[str, str], seconds: str) -> None:
    asked = tmp_path / "asked"
    done = _run(tmp_path, f"{PASSED}\nEND\necho \"$@\" >> {asked}\ncat <<'END'", more=variables)
    assert done.returncode == 0
    assert f"soak ARGS=--seconds {seconds} --rate 32 --shared" in asked.read_text().splitlines()
