"""Dashboards and alerts of deploy/monitoring use exported metrics and valid PromQL."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import promql_parser
import pytest
import yaml

from tests.api.conftest import ADMIN, open_service
from tests.support.contract_client import ContractClient

FOLDER = Path(__file__).parents[2] / "deploy" / "monitoring"
OURS = re.compile(r"\b(?:recollect|process)_\w+")
LABELS = re.compile(r"\b(\w+)\s*=~?\s*\"|by \(([^)]*)\)|\{\{\s*\$labels\.(\w+)|\{\{(\w+)\}\}")
OF_PROMETHEUS = frozenset({"job", "instance", "le"})


def _expressions() -> Iterator[tuple[str, str]]:
    """Yield each expression with the name of its panel or alert."""
    for place, question, shown in _questions():
        yield place, f"{question} {shown}"


def _questions() -> Iterator[tuple[str, str, str]]:
    rules = yaml.safe_load((FOLDER / "alerts.yaml").read_text())
    for rule in rules["groups"][0]["rules"]:
        yield rule["alert"], rule["expr"], ""
    dashboard = json.loads((FOLDER / "grafana.json").read_text())
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            yield panel["title"], target["expr"], target["legendFormat"]


@pytest.mark.anyio
async def test_every_metric_of_dashboard_and_alerts_is_exported(tmp_path: Path) -> None:
    async with open_service(tmp_path) as service:
        client = ContractClient(httpx2.ASGITransport(service.app), ADMIN)
        exported = (await client("GET", "/metrics")).text
    names: set[str] = set()
    for name, kind in re.findall(r"^# TYPE (\S+) (\w+)", exported, re.MULTILINE):
        endings = ("_bucket", "_sum", "_count") if kind == "histogram" else ("",)
        names |= {name + ending for ending in endings}
    asked = {(place, name) for place, question in _expressions() for name in OURS.findall(question)}
    assert len(asked) > 30
    assert [(place, name) for place, name in sorted(asked) if name not in names] == []


def test_every_question_is_one_that_prometheus_understands() -> None:
    questions = [question for _, question, _ in _questions()]
    assert len(questions) > 20
    for question in questions:
        promql_parser.parse(question.replace("$__rate_interval", "5m"))
    with pytest.raises(ValueError, match="unclosed left parenthesis"):
        promql_parser.parse(f"({questions[0]}")


@pytest.mark.parametrize(("place", "question"), list(_expressions()))
def test_every_label_is_one_that_a_metric_of_the_question_has(place: str, question: str) -> None:
    page = (FOLDER.parents[1] / "docs" / "guides" / "operate.md").read_text()
    described = {
        name: set(labels.split(",")) if labels else set()
        for name, labels in re.findall(r"`(recollect_\w+)(?:\{([\w,]+)\})?`", page)
    }
    known = OF_PROMETHEUS.union(
        *(described.get(re.sub(r"_bucket$", "", name), set()) for name in OURS.findall(question))
    )
    if "recollect_table" in question:
        known |= {"table"}  # the page names the four together
    used = {label.strip() for found in LABELS.findall(question) for part in found for label in part.split(",")}
    assert used - {""} <= known, place


def test_every_alert_says_how_urgent_it_is_and_stands_in_the_guide() -> None:
    guide = (FOLDER.parents[1] / "docs" / "guides" / "monitor.md").read_text()
    rules: list[dict[str, Any]] = yaml.safe_load((FOLDER / "alerts.yaml").read_text())["groups"][0]["rules"]
    for rule in rules:
        assert rule["labels"]["severity"] in {"page", "ticket"}
        assert rule["annotations"]["summary"]
        assert f"| `{rule['alert']}` |" in guide


def test_the_panels_of_the_dashboard_do_not_overlap() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in json.loads((FOLDER / "grafana.json").read_text())["panels"]:
        place = panel["gridPos"]
        cells = {(place["x"] + right, place["y"] + down) for right in range(place["w"]) for down in range(place["h"])}
        assert not cells & taken, panel["title"]
        assert place["x"] + place["w"] <= 24
        taken |= cells
