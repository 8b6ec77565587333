"""The judge lets nothing pass that the description does not know: a double that trusts it can't lie."""

from typing import Any

import pytest

from tests.support.providers.api_description import ApiDescription, DescriptionViolationError


@pytest.fixture(scope="module")
def judge() -> ApiDescription:
    return ApiDescription("github", headers=frozenset({"x-github-api-version"}), errors="basic-error")


def _asked(judge: ApiDescription, method: str, path: str, **parts: Any) -> None:
    request = {"query": [], "headers": {"accept": "*/*"}, "body": None} | parts
    judge.request(judge.operation(method, path), **request)


def test_what_is_described_may_be_asked(judge: ApiDescription) -> None:
    _asked(judge, "GET", "/repos/octo/handbook/issues", query=[("state", "all"), ("per_page", "100")])


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        ("/repos/octo/handbook/issues", {"query": [("stat", "all")]}),
        ("/repos/octo/handbook/issues", {"query": [("state", "every")]}),
        ("/repos/octo/handbook/issues", {"headers": {"x-invented": "1"}}),
        ("/repos/octo/handbook/issues", {"body": {"state": "all"}}),
        ("/teams", {}),
    ],
)
def test_what_is_not_described_may_not(judge: ApiDescription, path: str, parts: dict[str, Any]) -> None:
    with pytest.raises(DescriptionViolationError):
        _asked(judge, "GET", path, **parts)


def test_a_body_has_no_member_that_is_not_described(judge: ApiDescription) -> None:
    _asked(judge, "POST", "/repos/octo/handbook/hooks", body={"name": "web", "active": True})
    with pytest.raises(DescriptionViolationError, match="colour"):
        _asked(judge, "POST", "/repos/octo/handbook/hooks", body={"colour": "red"})


def test_a_last_parameter_may_hold_slashes(judge: ApiDescription) -> None:
    assert judge.operation("GET", "/repos/octo/handbook/commits/feature/x").path["ref"] == "feature/x"
    assert judge.operation("GET", "/repos/octo/handbook/issues/comments").template.endswith("/comments")


def test_an_answer_follows_its_component(judge: ApiDescription) -> None:
    operation = judge.operation("GET", "/repos/octo/handbook/issues/1")
    issue = judge.filled_example("issue", number=1, title="Coffee")
    judge.response(operation, 200, "application/json", issue)
    with pytest.raises(DescriptionViolationError, match="number"):
        judge.response(operation, 200, "application/json", {**issue, "number": "one"})
    with pytest.raises(DescriptionViolationError, match="not described"):
        judge.response(operation, 204, "application/json", None)


def test_a_failure_that_no_operation_declares_has_the_common_form(judge: ApiDescription) -> None:
    operation = judge.operation("GET", "/repos/octo/handbook")
    judge.response(operation, 429, "application/json", {"message": "Slow down"})
    with pytest.raises(DescriptionViolationError, match="message"):
        judge.response(operation, 429, "application/json", {"message": 7})
