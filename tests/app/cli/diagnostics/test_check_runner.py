"""The runner of checks: errors and timeouts become findings."""

import asyncio

import pytest

from app.cli.diagnostics.check_runner import CheckResult, Finding, passed, run_checks
from pipeline.errors import OutageError

pytestmark = pytest.mark.anyio


async def passing_check() -> list[CheckResult]:
    return [passed("fine"), ("warning", "nearly full", "make room")]


async def failing_check() -> list[CheckResult]:
    raise OutageError("no way there")


async def hanging_check() -> list[CheckResult]:
    await asyncio.Event().wait()
    return []


async def test_a_check_that_fails_or_hangs_is_a_problem_and_the_others_still_run() -> None:
    checks = {"broken": failing_check, "silent": hanging_check, "fine": passing_check}
    findings = [finding async for finding in run_checks(checks, timeout_seconds=0.01)]
    assert [(finding.component, finding.status) for finding in findings] == [
        ("broken", "problem"),
        ("silent", "problem"),
        ("fine", "ok"),
        ("fine", "warning"),
    ]
    assert findings[0].message == "no way there"
    assert findings[-1] == Finding("fine", "warning", "nearly full", "make room")
    assert all(finding.remedy for finding in findings if finding.status != "ok")
