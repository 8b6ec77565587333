"""Random histories of a repository or workspace, with killed runs: the mirror equals the source."""

import asyncio
from contextlib import suppress
from datetime import timedelta

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from connectors.providers.github.provider import GitHub
from connectors.providers.notion.provider import Notion
from tests.support.connectors.in_memory_sync import SimulatedKill
from tests.support.connectors.provider_harness import FixedTokenSource, ProviderHarness
from tests.support.fakes import FixedClock
from tests.support.providers.github_double import GitHubDouble
from tests.support.providers.github_repository import RepositoryDouble
from tests.support.providers.notion_double import NodeDouble, NotionDouble

Act = tuple[str, int]
QUICKLY = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def _acts(*kinds: str) -> st.SearchStrategy[list[Act]]:
    step = st.tuples(st.sampled_from([*kinds, "sync", "sync", "killed"]), st.integers(0, 40))
    return st.lists(step, max_size=16)


async def _run(bench: ProviderHarness, act: Act) -> None:
    kind, number = act
    if kind == "killed":
        bench.in_memory_sync.kill_after_messages = number
    with suppress(SimulatedKill):
        await bench.run()
    bench.in_memory_sync.kill_after_messages = None


def _in_repository(repo: RepositoryDouble, act: Act) -> None:
    kind, number = act
    path, text = f"{number % 5}.md", f"Text {repo.github.advance_clock()}"
    if kind == "write":
        repo.commit({path: text})
    elif kind == "remove" and path in repo.head.files:
        repo.commit({path: None})
    elif kind == "force":
        repo.commit({path: text}, base=None)
    elif kind == "branch":
        repo.branch = f"branch-{number % 2}"
        repo.commit({path: text})
    elif kind == "rename":
        repo.github.rename(repo, f"octo/name-{number}")  # type: ignore[attr-defined]  # the double is the world
    elif kind == "open":
        repo.open(text, text)
    elif issues := list(repo.issues.values()):
        issue = issues[number % len(issues)]
        if kind == "comment":
            repo.comment(issue, text)
        elif issue.comments:
            repo.edit_comment(issue.comments[number % len(issue.comments)], text)


@QUICKLY
@given(acts=_acts("write", "write", "remove", "force", "branch", "rename", "open", "comment", "edit"))
def test_a_repository_is_mirrored(acts: list[Act]) -> None:
    github = GitHubDouble()
    repo = github.repo("octo/handbook", {"0.md": "Zero", "1.md": "One"})
    bench = ProviderHarness(
        GitHub("id", "secret", clock=FixedClock()),
        github,
        access=FixedTokenSource("gho_good"),
        selection={"repos": [str(repo.id)]},
    )

    async def live() -> None:
        for act in acts:
            if act[0] in {"sync", "killed"}:
                await _run(bench, act)
            else:
                _in_repository(repo, act)
        await _run(bench, ("sync", 0))

    asyncio.run(live())
    github.assert_no_violations()
    files = {f"{repo.id}/blob/{path}": repo.blobs[sha].decode() for path, (_, sha) in repo.head.files.items()}
    assert {id_: item.text for id_, item in bench.items.items() if "/blob/" in id_} == files
    assert all(item.metadata["repository"] == repo.full_name for id_, item in bench.items.items() if "/blob/" in id_)
    issues = {f"{repo.id}/issues/{issue.number}": issue for issue in repo.issues.values()}
    assert {id_ for id_ in bench.items if "/issues/" in id_} == issues.keys()
    for id_, issue in issues.items():
        for said in [issue.title, *(comment.body for comment in issue.comments)]:
            assert said in bench.text(id_)


def _in_workspace(notion: NotionDouble, root: NodeDouble, pages: list[NodeDouble], act: Act) -> None:
    kind, number = act
    place = [root, *pages][number % (len(pages) + 1)]
    text = f"Text {next(notion.numbers)}"
    if kind == "page" and not place.trashed:
        pages.append(notion.page(f"Page {number}", text, place.id))
    elif kind == "outside":
        notion.page("Outside", text)
    elif pages:
        page = pages[number % len(pages)]
        if page.trashed:
            return
        if kind == "edit":
            notion.edit(page, markdown=text, passed=timedelta(seconds=20))
        elif kind == "trash":
            notion.trash(page)
        elif kind == "leave":
            notion.edit(page, place="")


@QUICKLY
@given(acts=_acts("page", "page", "page", "outside", "edit", "edit", "trash", "leave"))
@example(acts=[("page", 0), ("sync", 0), ("edit", 0), ("sync", 0), ("edit", 0)])
def test_a_selected_page_of_a_workspace_is_mirrored(acts: list[Act]) -> None:
    notion = NotionDouble()
    root = notion.page("Root", "root")
    pages: list[NodeDouble] = []
    bench = ProviderHarness(
        Notion("client", "hush"),
        notion,
        access=FixedTokenSource("ntn_good"),
        selection={"folders": [root.id]},
    )

    async def live() -> None:
        for act in acts:
            if act[0] in {"sync", "killed"}:
                await _run(bench, act)
            else:
                _in_workspace(notion, root, pages, act)
        await _run(bench, ("sync", 0))
        notion.advance_clock()
        await _run(bench, ("sync", 0))

    asyncio.run(live())
    notion.assert_no_violations()
    inside = {root.id: root} | {page.id: page for page in pages if _is_inside(notion, page, root)}
    assert {id_: bench.text(id_).split("\n\n")[1].strip() for id_ in bench.items} == {
        id_: page.markdown for id_, page in inside.items()
    }


def _is_inside(notion: NotionDouble, page: NodeDouble, root: NodeDouble) -> bool:
    at: NodeDouble | None = page
    while at is not None and at.id != root.id:
        if at.trashed:
            return False
        at = notion.nodes.get(at.place)
    return at is not None
