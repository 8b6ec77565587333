"""`recollect doctor`: problems of this deployment with their remedies."""

import asyncio
from collections.abc import Callable
from dataclasses import asdict
from functools import partial

import typer
from rich.markup import escape
from rich.table import Table

from app.cli.cli_settings import describe_unknown_settings
from app.cli.conventions import Terminal, emit, pluralize, say
from app.cli.diagnostics import component_checks, host_checks
from app.cli.diagnostics.check_runner import Check, CheckResult, Finding, run_checks
from pipeline.settings import Settings

_STATUS_MARKUP = {"ok": "[green]ok[/]", "warning": "[yellow]warning[/]", "problem": "[red]problem[/]"}


def run_diagnostics(settings: Settings, validate_key: Callable[[str], object], *, as_json: bool) -> None:
    """Check every component and print the findings; typer.Exit with 1 if there is a problem."""
    findings = asyncio.run(_run_with_spinner(build_checks(settings, validate_key)))
    if as_json:
        emit([asdict(finding) for finding in findings], as_json=True)
    else:
        _print_findings(findings)
    if any(finding.status == "problem" for finding in findings):
        raise typer.Exit(1)


def build_checks(settings: Settings, validate_key: Callable[[str], object]) -> dict[str, Check]:
    """Map each component's name to its check."""

    async def clock() -> list[CheckResult]:
        return await host_checks.check_clock(await component_checks.newest_record_at(settings))

    async def names_of_settings() -> list[CheckResult]:
        unknown = describe_unknown_settings()
        return [("warning", unknown, "docs/guides/configure.md lists every setting.")] if unknown else []

    return {
        "Python": host_checks.check_python,
        "settings": names_of_settings,
        "disk": partial(host_checks.check_disk, settings),
        "memory": partial(host_checks.check_memory, settings),
        "port": partial(host_checks.check_port, settings),
        "Kafka": partial(component_checks.check_kafka, settings),
        "log": partial(component_checks.check_log, settings),
        "sealing keys": partial(component_checks.check_sealing_keys, settings),
        "tables": partial(component_checks.check_tables, settings),
        "embedder": partial(component_checks.check_embedder, settings),
        "language model": partial(component_checks.check_language_model, settings),
        "object store": partial(component_checks.check_object_store, settings),
        "secrets": partial(host_checks.check_secrets, settings, validate_key),
        "clock": clock,
    }


async def _run_with_spinner(checks: dict[str, Check]) -> list[Finding]:
    findings: list[Finding] = []
    names = [*checks, ""]
    with Terminal(stderr=True).status(f"Checking {names[0]}…") as spinner:
        async for finding in run_checks(checks):
            findings.append(finding)
            spinner.update(f"Checking {names[names.index(finding.component) + 1]}…")
    return findings


def _print_findings(findings: list[Finding]) -> None:
    table = Table(box=None, pad_edge=False, show_header=False)
    for finding in findings:
        table.add_row(_STATUS_MARKUP[finding.status], finding.component, escape(finding.message))
        if finding.remedy:
            table.add_row("", "", f"[bold]→[/] {escape(finding.remedy)}")
    Terminal().print(table)
    problems = sum(finding.status == "problem" for finding in findings)
    warnings = sum(finding.status == "warning" for finding in findings)
    summary = f"{pluralize(problems, 'problem')}, {pluralize(warnings, 'warning')}."
    say(summary if problems or warnings else "All is well.")
