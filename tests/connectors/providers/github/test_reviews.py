"""GitHub: reviews and line comments of pull requests."""

from collections.abc import Iterator

import pytest

from connectors.provider_interface import ChangeHint, WebhookDelivery
from connectors.providers.github.provider import GitHub
from connectors.sync_messages import SourceItem
from tests.support.connectors.provider_harness import FixedTokenSource, ProviderHarness
from tests.support.fakes import FixedClock
from tests.support.providers.github_double import GitHubDouble
from tests.support.providers.github_repository import Issue, RepositoryDouble
from tests.support.providers.provider_double import DoubleResponse

pytestmark = pytest.mark.anyio


@pytest.fixture
def github() -> Iterator[GitHubDouble]:
    double = GitHubDouble()
    yield double
    double.assert_no_violations()


@pytest.fixture
def repo(github: GitHubDouble) -> RepositoryDouble:
    return github.repo("octo/app", {"README.md": "# App"})


@pytest.fixture
def pull(repo: RepositoryDouble) -> Issue:
    """A pull request with a comment, a review of two threads, a reply and an approval."""
    pull = repo.open("Print more", "It was silent.", pull=True)
    repo.comment(pull, "What for?")
    review = repo.review(pull, "Two remarks.", "CHANGES_REQUESTED")
    first = repo.comment_line(pull, review, "Use the log.")
    repo.comment_line(
        pull, review, "Too long.", path="src/log.py", code="@@ -1 +1,3 @@\n a\n+b\n+c", line=3, start_line=2
    )
    repo.comment_line(pull, repo.review(pull, author="ada"), "Done.", reply_to=first)
    repo.review(pull, state="APPROVED")
    return pull


@pytest.fixture
def bench(github: GitHubDouble, repo: RepositoryDouble, pull: Issue) -> ProviderHarness:
    del pull
    return ProviderHarness(
        GitHub("id", "secret", webhook_secret="hook", clock=FixedClock()),
        github,
        access=FixedTokenSource("gho_good"),
        selection={"repos": [str(repo.id)]},
    )


WHOLE = """\
# Print more

It was silent.

## bob, 2026-03-01

What for?

## eve requested changes, 2026-03-01

Two remarks.

### src/app.py, line 2

```diff
+print(1)
```

#### eve, 2026-03-01

Use the log.

#### ada, 2026-03-01

Done.

### src/log.py, lines 2-3

```diff
+b
+c
```

#### eve, 2026-03-01

Too long.

## eve approved, 2026-03-01
"""


def _text(bench: ProviderHarness, repo: RepositoryDouble) -> str:
    return bench.text(f"{repo.id}/issues/1")


async def test_a_pull_request_holds_its_reviews_in_order(bench: ProviderHarness, repo: RepositoryDouble) -> None:
    await bench.run()
    assert _text(bench, repo) == WHOLE


@pytest.mark.parametrize(
    "answer", [DoubleResponse(404), DoubleResponse(200, {"errors": [{"message": "Timed out."}]}), DoubleResponse(502)]
)
async def test_without_graphql_reviews_are_read_one_by_one(
    bench: ProviderHarness, github: GitHubDouble, repo: RepositoryDouble, answer: DoubleResponse
) -> None:
    github.fail(answer, "graphql", times=100)
    await bench.run()
    assert _text(bench, repo) == WHOLE


async def test_more_reviews_than_one_answer_holds_are_read_by_themselves(
    bench: ProviderHarness, repo: RepositoryDouble, pull: Issue
) -> None:
    for number in range(120):
        repo.review(pull, f"Remark {number}.")
    await bench.run()
    assert all(f"Remark {number}." in _text(bench, repo) for number in range(120))


async def test_an_incremental_run_reads_the_same_as_a_complete_one(
    bench: ProviderHarness, repo: RepositoryDouble, pull: Issue
) -> None:
    await bench.run()
    repo.comment_line(pull, repo.review(pull, author="bob"), "A last word.", line=None)
    await bench.run()
    assert "### src/app.py, line 2\n\n```diff\n+print(1)\n```\n\n#### bob" in _text(bench, repo)
    assert not [step for step in await bench.run(complete=True) if isinstance(step, SourceItem)]


async def test_an_edited_review_or_line_comment_is_found(
    bench: ProviderHarness, repo: RepositoryDouble, pull: Issue
) -> None:
    await bench.run()
    repo.edit_comment(pull.reviews[0], "Three remarks.")
    await bench.run()
    assert "Three remarks." in _text(bench, repo)
    repo.edit_comment(pull.line_comments[1], "Far too long.")
    await bench.run()
    assert "Far too long." in _text(bench, repo)
    assert not [step for step in await bench.run() if isinstance(step, SourceItem)]


async def test_reviews_of_many_pull_requests_take_a_call_for_fifty(
    bench: ProviderHarness, github: GitHubDouble, repo: RepositoryDouble
) -> None:
    for number in range(2, 121):
        repo.review(repo.open(f"Change {number}", pull=True), f"Seen {number}.")
    await bench.run()
    asked = github.drain_operation_ids()
    assert (asked.count("graphql"), asked.count("pulls/list-reviews")) == (3, 0)
    assert all(f"Seen {number}." in bench.text(f"{repo.id}/issues/{number}") for number in range(2, 121))


async def test_a_repository_without_pull_requests_is_not_asked_for_reviews(
    bench: ProviderHarness, github: GitHubDouble, repo: RepositoryDouble
) -> None:
    repo.issues.clear()
    repo.open("A question")
    await bench.run()
    github.drain_operation_ids()
    repo.edit(repo.issues[1], title="Another question")
    await bench.run()
    assert not {"graphql", "pulls/list-review-comments-for-repo"} & set(github.drain_operation_ids())
    repo.review(repo.open("A change", pull=True), "Seen.")
    await bench.run()
    assert "Seen." in bench.text(f"{repo.id}/issues/2")


async def test_where_reviews_may_not_be_read_issues_arrive_and_the_pull_request_says_why(
    bench: ProviderHarness, github: GitHubDouble, repo: RepositoryDouble
) -> None:
    repo.open("A question")
    github.broken_paths["/pulls/"] = DoubleResponse(403, {"message": "Resource not accessible by integration"})
    await bench.run()
    assert f"{repo.id}/issues/2" in bench.items
    assert "403" in bench.in_memory_sync.failures[f"{repo.id}/issues/1"].message
    github.broken_paths.clear()
    await bench.run()
    assert _text(bench, repo) == WHOLE
    assert not bench.in_memory_sync.failures


async def test_a_pending_review_is_nobodys_business(bench: ProviderHarness, repo: RepositoryDouble) -> None:
    repo.review(repo.issues[1], "A draft.", "PENDING")
    await bench.run()
    assert _text(bench, repo) == WHOLE


@pytest.mark.parametrize(
    ("event", "action"), [("pull-request-review-edited", "edited"), ("pull-request-review-comment-deleted", "deleted")]
)
async def test_events_of_reviews_list_everything(
    bench: ProviderHarness, github: GitHubDouble, repo: RepositoryDouble, event: str, action: str
) -> None:
    headers, body = github.delivery(repo, event, "hook", action=action)
    told = await bench.provider.verify_delivery(WebhookDelivery(headers, {}, body, github.now))
    assert ChangeHint("selected", str(repo.id), requires_full_sync=True) in told.hints


@pytest.mark.parametrize("spoiled", [DoubleResponse(502), DoubleResponse(200, [{"id": 1}]), DoubleResponse(403, {})])
@pytest.mark.parametrize("operation", ["issues/list-comments-for-repo", "pulls/list-review-comments-for-repo"])
async def test_where_a_list_of_comments_is_no_good_each_issue_is_read_by_itself(
    bench: ProviderHarness, github: GitHubDouble, repo: RepositoryDouble, spoiled: DoubleResponse, operation: str
) -> None:
    repo.comment(repo.open("A question"), "An answer.")
    github.fail(spoiled, operation, times=100)
    await bench.run()
    assert _text(bench, repo) == WHOLE
    assert "An answer." in bench.text(f"{repo.id}/issues/2")
    assert not bench.in_memory_sync.failures
    github.violations.clear()  # the spoiled list is none that GitHub describes
