"""GitHub: files by Git's hashes, issues by their times, and its traps."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import ClassVar

import httpx2
import pytest

from connectors.errors import AuthExpiredError, RateLimitedError, WebhookVerificationError
from connectors.provider_interface import ChangeHint, WebhookDelivery, WebhookSubscription
from connectors.providers.github.provider import GitHub
from connectors.sync_messages import RemovedItem, SourceItem
from tests.connectors.provider_contract import ConnectorContract, DeliveryRequest, SourceDriver
from tests.support.connectors.provider_harness import FixedTokenSource, ProviderHarness
from tests.support.fakes import FixedClock
from tests.support.providers.github_double import API, GitHubDouble
from tests.support.providers.github_repository import RepositoryDouble
from tests.support.providers.provider_double import DoubleResponse

pytestmark = pytest.mark.anyio


@pytest.fixture
def github() -> Iterator[GitHubDouble]:
    double = GitHubDouble()
    yield double
    double.assert_no_violations()


@pytest.fixture
def repo(github: GitHubDouble) -> RepositoryDouble:
    made = github.repo("octo/handbook", {"README.md": "# Handbook\n\nHi.", "docs/leave.md": "30 days", "a.py": "x"})
    issue = made.open("Coffee?", "Where is it?", labels=("question",))
    made.comment(issue, "On the third floor.")
    return made


@pytest.fixture
def bench(github: GitHubDouble, repo: RepositoryDouble) -> ProviderHarness:
    return ProviderHarness(
        GitHub("id", "secret", clock=FixedClock()),
        github,
        access=FixedTokenSource("gho_good"),
        selection={"repos": [str(repo.id)]},
    )


def _ids(bench: ProviderHarness, repo: RepositoryDouble) -> set[str]:
    return {id_.removeprefix(f"{repo.id}/") for id_ in bench.items}


async def test_everything_is_read_at_first(bench: ProviderHarness, repo: RepositoryDouble) -> None:
    await bench.run()
    assert _ids(bench, repo) == {"blob/README.md", "blob/docs/leave.md", "issues/1"}
    readme = bench.items[f"{repo.id}/blob/README.md"]
    assert readme.title == "Handbook"
    assert readme.url == "https://github.com/octo/handbook/blob/main/README.md"
    assert readme.metadata["path"] == "README.md"
    assert readme.metadata["author"] == "ada"
    issue = bench.items[f"{repo.id}/issues/1"]
    assert issue.text == "# Coffee?\n\nWhere is it?\n\n## bob, 2026-03-01\n\nOn the third floor.\n"
    assert issue.metadata["labels"] == ["question"]


async def test_nothing_changed_costs_four_requests(bench: ProviderHarness, github: GitHubDouble) -> None:
    await bench.run()
    github.drain_operation_ids()
    steps = await bench.run()
    assert len(github.drain_operation_ids()) == 4
    assert not [step for step in steps if isinstance(step, (SourceItem, RemovedItem))]


@pytest.fixture
def many(bench: ProviderHarness, github: GitHubDouble, repo: RepositoryDouble) -> list[RepositoryDouble]:
    """Sixty repositories, all of them chosen."""
    others = [github.repo(f"octo/r{number}", {"README.md": f"# {number}"}) for number in range(59)]
    bench.selection = {"repos": [str(chosen.id) for chosen in (repo, *others)]}
    return [repo, *others]


async def test_of_many_repositories_those_that_are_as_they_were_cost_nothing(
    bench: ProviderHarness, github: GitHubDouble, many: list[RepositoryDouble]
) -> None:
    await bench.run()
    _later(bench)
    await bench.run()
    github.drain_operation_ids()
    assert not [step for step in await bench.run() if isinstance(step, (SourceItem, RemovedItem))]
    assert github.drain_operation_ids() == ["graphql", "graphql"]
    many[1].commit({"new.md": "# New"})
    many[2].open("A question")
    many[3].open("A change", pull=True)
    github.rename(many[4], "octo/renamed")
    github.remove(many[5])
    assert {f"{many[0].id}/issues/1", f"{many[5].id}/blob/README.md"} <= bench.items.keys()
    steps = await bench.run()
    assert {step.id.partition("/")[0] for step in steps if isinstance(step, (SourceItem, RemovedItem))} == {
        str(repository.id) for repository in many[1:6]
    }
    assert len(github.drain_operation_ids()) < 2 + 5 * 6


async def test_a_glance_is_not_believed_for_ever_nor_where_an_event_says_more(
    bench: ProviderHarness, github: GitHubDouble, many: list[RepositoryDouble]
) -> None:
    await bench.run()
    _later(bench)
    await bench.run()
    issue = f"{many[0].id}/issues/1"
    many[0].edit_comment(many[0].issues[1].comments[0], "On the fourth floor.")
    await bench.run()
    assert "third" in bench.text(issue)
    bench.triggered_by_event = True
    await bench.run()
    assert "fourth" in bench.text(issue)
    many[0].edit_comment(many[0].issues[1].comments[0], "On the fifth floor.")
    bench.triggered_by_event = False
    _later(bench, timedelta(hours=25))
    await bench.run()
    assert "fifth" in bench.text(issue)


@pytest.mark.parametrize(
    "answer", [DoubleResponse(404), DoubleResponse(200, {"errors": [{"message": "Something broke."}]})]
)
async def test_a_server_that_answers_no_question_is_asked_for_its_lists(
    bench: ProviderHarness, github: GitHubDouble, many: list[RepositoryDouble], answer: DoubleResponse
) -> None:
    await bench.run()
    _later(bench)
    await bench.run()
    github.drain_operation_ids()
    github.fail(answer, "graphql", times=2)
    many[1].commit({"new.md": "# New"})
    await bench.run()
    assert f"{many[1].id}/blob/new.md" in bench.items
    assert github.drain_operation_ids().count("repos/get") == 60


def _later(bench: ProviderHarness, passed: timedelta = timedelta(minutes=10)) -> None:
    """What is newest now is older than a minute when it is read again."""
    assert isinstance(bench.provider, GitHub)
    clock, double = bench.provider._clock, bench.double
    assert isinstance(clock, FixedClock)
    clock.moment = max(double.now, clock.moment) + passed


async def test_changes_additions_and_deletions_arrive(
    bench: ProviderHarness, github: GitHubDouble, repo: RepositoryDouble
) -> None:
    await bench.run()
    repo.commit({"README.md": "# New", "docs/leave.md": None, "docs/pay.md": "Paid."}, author="eve")
    github.drain_operation_ids()
    await bench.run()
    assert _ids(bench, repo) == {"blob/README.md", "blob/docs/pay.md", "issues/1"}
    assert bench.items[f"{repo.id}/blob/README.md"].metadata["author"] == "eve"
    assert len(github.drain_operation_ids()) == 4 + 1 + 2


async def test_of_several_commits_no_author_is_guessed(bench: ProviderHarness, repo: RepositoryDouble) -> None:
    await bench.run()
    repo.commit({"README.md": "# One"}, author="eve")
    repo.commit({"docs/leave.md": "40 days"}, author="bob")
    await bench.run()
    assert "author" not in bench.items[f"{repo.id}/blob/README.md"].metadata


async def test_many_files_come_in_one_archive(
    bench: ProviderHarness, github: GitHubDouble, repo: RepositoryDouble
) -> None:
    repo.commit({f"notes/{n}.md": f"# Note {n}" for n in range(300)})
    await bench.run()
    assert len(_ids(bench, repo)) == 303
    assert github.downloads == 1
    assert len(github.drain_operation_ids()) <= 7


async def test_what_attributes_keep_out_of_the_archive_is_read_as_a_blob(
    bench: ProviderHarness, github: GitHubDouble, repo: RepositoryDouble
) -> None:
    repo.commit({f"notes/{n}.md": f"# Note {n}" for n in range(30)})
    repo.archive_excluded |= {"notes/3.md", "notes/4.md"}
    await bench.run()
    assert bench.text(f"{repo.id}/blob/notes/3.md") == "# Note 3"
    assert github.drain_operation_ids().count("git/get-blob") == 2


async def test_a_tree_that_is_cut_short_is_walked(
    bench: ProviderHarness, github: GitHubDouble, repo: RepositoryDouble
) -> None:
    repo.commit({f"{folder}/deep/{n}.md": "x" for folder in "abc" for n in range(4)})
    github.tree_limit = 8
    await bench.run()
    assert len(_ids(bench, repo)) == 15


async def test_a_forced_push_is_a_tree_like_any_other(bench: ProviderHarness, repo: RepositoryDouble) -> None:
    await bench.run()
    repo.commit({"other.md": "Another history"}, base=None)
    await bench.run()
    assert _ids(bench, repo) == {"blob/other.md", "issues/1"}


async def test_another_default_branch_is_followed(bench: ProviderHarness, repo: RepositoryDouble) -> None:
    await bench.run()
    repo.commit({"next.md": "Next"}, branch="next")
    repo.branch = "next"
    await bench.run()
    assert _ids(bench, repo) == {"blob/next.md", "issues/1"}
    assert "/blob/next/" in str(bench.items[f"{repo.id}/blob/next.md"].url)


@pytest.mark.parametrize("by_name", [True, False])
async def test_a_renamed_repository_keeps_its_documents(
    bench: ProviderHarness, github: GitHubDouble, repo: RepositoryDouble, by_name: bool
) -> None:
    bench.selection = {"repos": ["octo/handbook" if by_name else str(repo.id)]}
    await bench.run()
    github.rename(repo, "octo/guide")
    impostor = github.repo("octo/handbook", {"README.md": "# Not yours"})
    steps = await bench.run()
    assert not [step for step in steps if isinstance(step, RemovedItem)]
    assert bench.items[f"{repo.id}/blob/README.md"].metadata["repository"] == "octo/guide"
    assert not [id_ for id_ in bench.items if id_.startswith(str(impostor.id))]


async def test_a_repository_that_is_gone_takes_its_documents_along(
    bench: ProviderHarness, github: GitHubDouble, repo: RepositoryDouble
) -> None:
    await bench.run()
    github.remove(repo)
    await bench.run()
    assert not bench.items
    assert [failure.code for failure in bench.in_memory_sync.failures.values()] == ["not_found"]


@pytest.mark.parametrize("complete", [False, True])
async def test_a_repository_that_is_blocked_keeps_its_documents_and_says_why(
    bench: ProviderHarness, github: GitHubDouble, repo: RepositoryDouble, complete: bool
) -> None:
    """GitHub hides what somebody complains about (451) until its owner answers: it is not deleted."""
    await bench.run()
    before = set(bench.items)
    notice = "https://github.com/github/dmca/blob/master/2026/03/2026-03-01-octo.md"
    block = {"reason": "dmca", "created_at": "2026-03-01T00:00:00Z", "html_url": notice}
    blocked = {"message": "Repository access blocked", "block": block}
    github.broken_paths[f"/repositories/{repo.id}"] = DoubleResponse(451, blocked)
    await bench.run(complete=complete)
    assert set(bench.items) == before
    failure = bench.in_memory_sync.failures[f"repository/{repo.id}"]
    assert (failure.code, failure.retryable) == ("blocked", True)
    assert "dmca" in failure.message
    assert notice in failure.message
    github.broken_paths.clear()
    await bench.run()
    assert not bench.in_memory_sync.failures


async def test_what_is_not_chosen_any_more_goes_with_the_next_complete_listing(
    bench: ProviderHarness, github: GitHubDouble, repo: RepositoryDouble
) -> None:
    other = github.repo("octo/other", {"x.md": "x"})
    bench.selection = {"repos": [str(repo.id), str(other.id)]}
    await bench.run()
    bench.selection = {"repos": [str(other.id)]}
    await bench.run(complete=True)
    assert list(bench.items) == [f"{other.id}/blob/x.md"]


async def test_an_empty_repository_is_no_failure(bench: ProviderHarness, github: GitHubDouble) -> None:
    bench.selection = {"repos": [str(github.repo("octo/empty").id)]}
    await bench.run()
    assert not bench.items
    assert not bench.in_memory_sync.failures


async def test_links_submodules_and_pointers_are_no_documents(
    bench: ProviderHarness, github: GitHubDouble, repo: RepositoryDouble
) -> None:
    repo.commit({"link.md": "README.md"}, mode="120000")
    repo.commit({"module.md": "x"}, mode="160000")
    repo.commit({"big.md": "version https://git-lfs.github.com/spec/v1\noid sha256:1\n"})
    await bench.run()
    assert not {"blob/link.md", "blob/module.md", "blob/big.md"} & _ids(bench, repo)
    assert [failure.code for failure in bench.in_memory_sync.failures.values()] == ["unsupported"]


async def test_a_file_in_another_encoding_is_handed_on_as_a_file(
    bench: ProviderHarness, repo: RepositoryDouble
) -> None:
    repo.commit({"alt.txt": "Grüße".encode("latin-1")})
    await bench.run()
    file = bench.items[f"{repo.id}/blob/alt.txt"].file
    assert file is not None
    assert file.data == "Grüße".encode("latin-1")


async def test_an_edited_comment_changes_its_issue(bench: ProviderHarness, repo: RepositoryDouble) -> None:
    await bench.run()
    repo.edit_comment(repo.issues[1].comments[0], "On the fourth floor.")
    await bench.run()
    assert "fourth" in bench.text(f"{repo.id}/issues/1")


async def test_issues_of_the_same_second_are_not_lost(bench: ProviderHarness, repo: RepositoryDouble) -> None:
    await bench.run()
    first = repo.open("One")
    await bench.run()
    repo.issues[3] = type(first)(3, "Two", "", "ada", first.created_at, first.updated_at)
    await bench.run()
    assert "issues/3" in _ids(bench, repo)


async def test_a_deleted_issue_goes_with_the_next_complete_listing(
    bench: ProviderHarness, repo: RepositoryDouble
) -> None:
    await bench.run()
    del repo.issues[1]
    await bench.run(complete=True)
    assert "issues/1" not in _ids(bench, repo)


async def test_a_complete_listing_of_what_is_known_reads_no_content(
    bench: ProviderHarness, github: GitHubDouble
) -> None:
    await bench.run()
    github.drain_operation_ids()
    steps = await bench.run(complete=True)
    assert not [step for step in steps if isinstance(step, SourceItem)]
    assert len(github.drain_operation_ids()) == 6


async def test_a_killed_run_goes_on_and_reads_nothing_twice(
    bench: ProviderHarness, github: GitHubDouble, repo: RepositoryDouble
) -> None:
    other = github.repo("octo/other", {"x.md": "x"})
    bench.selection = {"repos": [str(repo.id), str(other.id)]}
    before = len([step for step in await bench.run_until_killed(6) if isinstance(step, SourceItem)])
    rest = [step for step in await bench.run() if isinstance(step, SourceItem)]
    assert before + len(rest) == 4
    assert len(bench.items) == 4


@pytest.mark.parametrize(
    ("limit", "slept"),
    [({"retry_after": 7}, 7), ({"reset": 30}, 30), ({"retry_after": 9, "status": 429}, 9), ({}, 60)],
)
async def test_it_waits_as_long_as_github_asks(
    bench: ProviderHarness, github: GitHubDouble, limit: dict[str, int], slept: float
) -> None:
    github.fail(github.rate_limited_response(**limit), "git/get-tree")
    await bench.run()
    assert bench.items
    assert max(bench.virtual_sleep.requested_seconds) == pytest.approx(slept, abs=1)


@pytest.mark.parametrize("reset", ["soon", "9" * 30, "-1e9", "253402300800"])
async def test_a_time_of_reset_that_is_none_is_a_minute(
    bench: ProviderHarness, github: GitHubDouble, reset: str
) -> None:
    answer = github.rate_limited_response(reset=0)
    github.fail(replace(answer, headers=answer.headers | {"x-ratelimit-reset": reset}), "git/get-tree")
    await bench.run()
    assert max(bench.virtual_sleep.requested_seconds) == pytest.approx(60, abs=1)


async def test_a_used_up_budget_ends_the_run_with_the_time_to_try_again(
    bench: ProviderHarness, github: GitHubDouble
) -> None:
    github.fail(github.rate_limited_response(reset=1800), "git/get-tree")
    with pytest.raises(RateLimitedError) as caught:
        await bench.run()
    assert caught.value.retry_after is not None
    assert caught.value.retry_after.total_seconds() == 1800


async def test_a_revoked_token_is_the_users_affair(bench: ProviderHarness, github: GitHubDouble) -> None:
    github.tokens.clear()
    with pytest.raises(AuthExpiredError):
        await bench.run()


@pytest.mark.parametrize(
    ("message", "headers", "told"),
    [
        (
            "Resource protected by organization SAML enforcement.",
            {"x-github-sso": "required; url=x"},
            "sign-on",
        ),
        ("This installation has been suspended", {}, "suspended"),
    ],
)
async def test_what_only_the_user_can_mend_at_github_is_the_users_affair(
    bench: ProviderHarness, github: GitHubDouble, message: str, headers: dict[str, str], told: str
) -> None:
    github.fail(DoubleResponse(403, {"message": message}, headers), "repos/get-commit")
    with pytest.raises(AuthExpiredError, match=told):
        await bench.run()


async def test_a_missing_permission_for_one_repository_is_told(bench: ProviderHarness, github: GitHubDouble) -> None:
    github.fail(DoubleResponse(403, {"message": "Resource not accessible by integration"}), "repos/get")
    await bench.run()
    assert [failure.code for failure in bench.in_memory_sync.failures.values()] == ["not_found"]


async def test_issues_that_are_switched_off_are_none(
    bench: ProviderHarness, github: GitHubDouble, repo: RepositoryDouble
) -> None:
    gone = DoubleResponse(410, {"message": "Issues has been disabled in this repository."})
    github.fail(gone, "issues/list-for-repo")
    github.fail(gone, "issues/list-comments-for-repo")
    await bench.run()
    assert _ids(bench, repo) == {"blob/README.md", "blob/docs/leave.md"}


async def test_documents_above_the_limit_are_left_out(
    bench: ProviderHarness, github: GitHubDouble, repo: RepositoryDouble
) -> None:
    bench.in_memory_sync.document_limit = 2
    await bench.run()
    assert _ids(bench, repo) == {"blob/README.md", "blob/docs/leave.md"}
    assert github.drain_operation_ids().count("git/get-blob") == 2


async def test_a_token_that_can_be_renewed_is(bench: ProviderHarness, github: GitHubDouble) -> None:
    bench.access = FixedTokenSource("gho_old", lambda _: "gho_good")
    await bench.run()
    assert bench.items


async def test_a_push_to_any_branch_is_a_hint(
    bench: ProviderHarness, github: GitHubDouble, repo: RepositoryDouble
) -> None:
    hints = {ChangeHint("selected", str(repo.id)), ChangeHint("selected", repo.full_name)}
    await _received(bench, github.push(repo, "s3cret"), hints)
    await _received(bench, github.push(repo, "s3cret", ref="refs/heads/next"), hints)
    await _received(bench, github.push(repo, "s3cret", ref="refs/tags/v1"), set())


async def test_a_comment_is_a_hint_and_a_deleted_issue_asks_for_a_complete_listing(
    bench: ProviderHarness, github: GitHubDouble, repo: RepositoryDouble
) -> None:
    known = {"issue": {"user": {"login": "ada", "id": 1}, "labels": []}}
    delivery = github.delivery(repo, "issue-comment-created", "s3cret", **known)
    await _received(bench, delivery, {ChangeHint("selected", str(repo.id)), ChangeHint("selected", repo.full_name)})
    delivery = github.delivery(repo, "issues-deleted", "s3cret")
    names = {str(repo.id), repo.full_name}
    await _received(bench, delivery, {ChangeHint("selected", name, requires_full_sync=True) for name in names})


async def test_a_rename_is_told_under_both_names(
    bench: ProviderHarness, github: GitHubDouble, repo: RepositoryDouble
) -> None:
    github.rename(repo, "octo/guide")
    changes = {"repository": {"name": {"from": "handbook"}}}
    delivery = github.delivery(repo, "repository-renamed", "s3cret", changes=changes)
    names = {str(repo.id), "octo/guide", "octo/handbook"}
    await _received(bench, delivery, {ChangeHint("selected", name) for name in names})


async def test_a_delivery_with_another_signature_is_forged(
    bench: ProviderHarness, github: GitHubDouble, repo: RepositoryDouble
) -> None:
    headers, body = github.push(repo, "another")
    with pytest.raises(WebhookVerificationError):
        await _received(bench, (headers, body), set())
    del headers["x-hub-signature-256"]
    headers["x-hub-signature"] = "sha1=" + "0" * 40
    with pytest.raises(WebhookVerificationError):
        await _received(bench, (headers, body), set())


async def _received(bench: ProviderHarness, delivery: tuple[dict[str, str], bytes], hints: set[ChangeHint]) -> None:
    headers, body = delivery
    at = bench.double.now
    given = WebhookDelivery(headers, {}, body, at, WebhookSubscription("con_1", "s3cret"))
    receipt = await bench.provider.verify_delivery(given)
    assert set(receipt.hints) == hints
    assert receipt.delivery_id == headers["x-github-delivery"]


async def test_every_chosen_repository_gets_one_hook(
    bench: ProviderHarness, github: GitHubDouble, repo: RepositoryDouble
) -> None:
    other = github.repo("octo/other", {"x.md": "x"})
    other.admin = False
    bench.selection = {"repos": [str(repo.id), str(other.id)]}
    address = "https://recollect.test/webhooks/github/con_1"
    first = await bench.provider.subscribe(bench.connection(), address, "s3cret", None)
    assert first is not None
    github.drain_operation_ids()
    assert await bench.provider.subscribe(bench.connection(), address, "s3cret", first) == first
    assert github.drain_operation_ids() == []
    assert [hook["config"]["url"] for hook in repo.hooks.values()] == [address]
    again = await bench.provider.subscribe(bench.connection(), address, "n3w", None)
    assert again is not None
    assert len(repo.hooks) == 1
    await bench.provider.unsubscribe(bench.connection(), again)
    assert not repo.hooks


async def test_the_picker_shows_repositories_by_pages(
    bench: ProviderHarness, github: GitHubDouble, repo: RepositoryDouble
) -> None:
    for number in range(120):
        github.repo(f"octo/r{number}")
    first = await bench.provider.browse(bench.connection(), None, "", None)
    assert len(first.entries) == 100
    assert first.entries[0].id == str(repo.id)
    second = await bench.provider.browse(bench.connection(), None, "", first.next_page_token)
    assert len(second.entries) == 21
    assert second.next_page_token is None
    found = await bench.provider.browse(bench.connection(), None, "HAND", None)
    assert [entry.name for entry in found.entries] == ["octo/handbook"]


async def test_names_are_known_for_numbers_and_names(
    bench: ProviderHarness, github: GitHubDouble, repo: RepositoryDouble
) -> None:
    names = await bench.provider.resolve_names(
        bench.connection(), "repos", [str(repo.id), "octo/handbook", "octo/none"]
    )
    assert names == {str(repo.id): "octo/handbook", "octo/handbook": "octo/handbook"}
    account = await bench.provider.fetch_account(bench.connection())
    assert account is not None
    assert account.name == "ada"


class GitHubSourceDriver(SourceDriver):
    """Files of one repository; what moves out goes to another one."""

    requires_subscription: ClassVar[bool] = True

    def __init__(self) -> None:
        self.double = GitHubDouble(site=API)
        self.consent()
        self.chosen = self.double.repo("octo/handbook", {"main.py": "x"})
        self.other = self.double.repo("octo/other", {"main.py": "x"})
        self.provider = GitHub("id", "planted-client-secret", site_url=API, clock=FixedClock())
        self.selection = {"repos": [str(self.chosen.id)]}

    def consent(self) -> None:
        self.double.codes.add("a-code")

    def transport(self) -> httpx2.AsyncBaseTransport:
        return httpx2.ASGITransport(self.double)

    async def put(self, key: str, text: str) -> None:
        self.chosen.commit({f"{key}.md": text})

    async def put_all(self, texts: Mapping[str, str]) -> None:
        self.chosen.commit({f"{key}.md": text for key, text in texts.items()})

    async def remove(self, key: str) -> None:
        self.chosen.commit({f"{key}.md": None})

    async def move_out(self, key: str) -> None:
        self.chosen.commit({f"{key}.md": None})
        self.other.commit({f"{key}.md": "Moved"})

    def title(self, key: str) -> str:
        return f"{key}.md"

    def call_count(self) -> int:
        return len(self.double.calls) + self.double.downloads

    def revoke_access(self) -> None:
        self.double.tokens.clear()
        self.double.refresh_tokens.clear()

    def rate_limit_for(self, seconds: int) -> None:
        self.double.fail(self.double.rate_limited_response(retry_after=seconds))

    def delivery(self, connector: str, *, forged: bool = False) -> DeliveryRequest:
        [(number, hook)] = self.chosen.hooks.items()
        secret = "another" if forged else self.chosen.webhook_secrets[number]
        return DeliveryRequest(hook["config"]["url"], *self.double.push(self.chosen, secret))

    def subscription_count(self) -> int:
        return len(self.chosen.hooks)

    async def assert_no_violations(self) -> None:
        self.double.assert_no_violations()


class TestContract(ConnectorContract):
    @pytest.fixture
    def source(self) -> GitHubSourceDriver:
        return GitHubSourceDriver()
