"""GitHub: code files by patterns of paths, and another branch."""

from collections.abc import Iterator

import pytest

from connectors.providers.github.file_filter import FileFilter
from connectors.providers.github.provider import GitHub
from connectors.sync_messages import RemovedItem, SourceItem
from tests.support.connectors.provider_harness import FixedTokenSource, ProviderHarness
from tests.support.fakes import FixedClock
from tests.support.providers.github_double import GitHubDouble
from tests.support.providers.github_repository import RepositoryDouble

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("patterns", "path", "is_read"),
    [
        ("", "docs/a.md", True),
        ("", "src/a.py", False),
        ("*.py", "a.py", True),
        ("*.py", "src/deep/a.py", True),
        ("*.py", "a.pyc", False),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/deep/a.py", False),
        ("src/**/*.py", "src/a.py", True),
        ("src/**/*.py", "src/deep/er/a.py", True),
        ("/src/**", "src/deep/Makefile", True),
        ("/src/**", "lib/src/a.c", False),
        ("src/", "src/deep/a.c", True),
        ("*.py, !test_*", "src/test_a.py", False),
        ("!docs/old/**", "docs/old/a.md", False),
        ("!docs/old/**", "docs/new/a.md", True),
        ("a?.c", "ab.c", True),
        ("a[b].c", "ab.c", False),
        ("Makefile", "deep/Makefile", True),
    ],
)
def test_patterns_of_paths(patterns: str, path: str, is_read: bool) -> None:
    assert FileFilter.from_config({"paths": patterns}).selects(path) is is_read


@pytest.fixture
def github() -> Iterator[GitHubDouble]:
    double = GitHubDouble()
    yield double
    double.assert_no_violations()


@pytest.fixture
def repo(github: GitHubDouble) -> RepositoryDouble:
    made = github.repo(
        "octo/app", {"README.md": "# App", "src/app.py": "# Start\nprint(1)", "src/logo.png": b"\x89PNG"}
    )
    made.commit({"README.md": "# Next", "src/next.py": "x"}, branch="next")
    return made


def _bench(github: GitHubDouble, repo: RepositoryDouble, **config: str) -> ProviderHarness:
    provider = GitHub("id", "secret", clock=FixedClock())
    return ProviderHarness(
        provider, github, access=FixedTokenSource("gho_good"), selection={"repos": [str(repo.id)]}, config=config
    )


async def test_code_is_read_where_a_pattern_says_so(github: GitHubDouble, repo: RepositoryDouble) -> None:
    bench = _bench(github, repo, paths="src/**")
    await bench.run()
    code = bench.items[f"{repo.id}/blob/src/app.py"]
    assert (code.title, code.metadata["type"], code.text) == ("app.py", "code", None)
    assert bench.text(code.id) == "# Start\nprint(1)"
    assert bench.items[f"{repo.id}/blob/README.md"].metadata["type"] == "file"
    assert bench.in_memory_sync.failures[f"{repo.id}/blob/src/logo.png"].code == "unsupported"


async def test_another_branch_is_read_and_followed(github: GitHubDouble, repo: RepositoryDouble) -> None:
    bench = _bench(github, repo, branch="next")
    await bench.run()
    readme = bench.items[f"{repo.id}/blob/README.md"]
    assert (readme.title, readme.metadata["branch"]) == ("Next", "next")
    assert readme.url == "https://github.com/octo/app/blob/next/README.md"
    repo.commit({"README.md": "# Later"}, branch="next")
    await bench.run()
    assert bench.items[f"{repo.id}/blob/README.md"].title == "Later"
    assert not [step for step in await bench.run() if isinstance(step, SourceItem)]


async def test_a_branch_that_is_not_there_is_said_and_the_default_branch_read(
    github: GitHubDouble, repo: RepositoryDouble
) -> None:
    bench = _bench(github, repo, branch="gone")
    await bench.run()
    assert bench.items[f"{repo.id}/blob/README.md"].title == "App"
    assert "has no branch gone: main is read" in bench.in_memory_sync.failures[f"{repo.id}/branch"].message
    repo.commit({"README.md": "# Now"}, branch="gone")
    steps = await bench.run()
    assert bench.items[f"{repo.id}/blob/README.md"].title == "Now"
    assert RemovedItem(f"{repo.id}/branch") in steps
    assert not bench.in_memory_sync.failures
