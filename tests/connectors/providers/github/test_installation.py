"""GitHub as an installation of an app: JWT, tokens of an hour, and what such tokens may not ask."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest
from joserfc.jwk import RSAKey

from connectors.errors import AuthExpiredError, ConnectorError, MisconfigurationError
from connectors.providers.github.installation import GitHubApp
from connectors.providers.github.provider import GitHub
from tests.support.connectors.in_memory_sync import connect, http_clients
from tests.support.connectors.provider_harness import ProviderHarness
from tests.support.fakes import FixedClock
from tests.support.providers.github_double import GitHubDouble

pytestmark = pytest.mark.anyio
KEY = RSAKey.generate_key(2048)
PEM = KEY.as_pem(private=True).decode()


@pytest.fixture
def github() -> Iterator[GitHubDouble]:
    double = GitHubDouble()
    double.app_key, double.tokens = KEY, set()
    double.installations[77] = "octo"
    double.repo("octo/handbook", {"README.md": "# Handbook"})
    yield double
    double.assert_no_violations()


def _bench(github: GitHubDouble, app: GitHubApp, selected: str = "octo/handbook") -> ProviderHarness:
    provider = GitHub(None, "", app=app, clock=FixedClock(github.now))
    source = provider.service_token_source(connect(provider, http_clients(github, github)).http, None)
    return ProviderHarness(provider, github, access=source, selection={"repos": [selected]})


@pytest.fixture
def bench(github: GitHubDouble) -> ProviderHarness:
    return _bench(github, GitHubApp("12", PEM))


async def test_an_installation_needs_no_user(bench: ProviderHarness, github: GitHubDouble) -> None:
    assert bench.provider.oauth is None
    await bench.run()
    assert {item.title for item in bench.items.values()} == {"Handbook"}
    account = await bench.provider.fetch_account(bench.connection())
    assert account is not None
    assert account.name == "octo"
    assert github.drain_operation_ids().count("apps/create-installation-access-token") == 1


async def test_a_token_is_renewed_before_it_ends_and_where_it_is_rejected(
    bench: ProviderHarness, github: GitHubDouble
) -> None:
    await bench.run()
    assert isinstance(bench.provider, GitHub)
    github.drain_operation_ids()
    github.advance_clock(timedelta(minutes=56))
    assert isinstance(bench.provider._clock, FixedClock)
    bench.provider._clock.moment = github.now
    await bench.run()
    assert github.drain_operation_ids().count("apps/create-installation-access-token") == 1
    github.tokens.clear()
    await bench.run(complete=True)
    assert github.drain_operation_ids().count("apps/create-installation-access-token") == 1
    assert not bench.in_memory_sync.failures


async def test_the_picker_and_names_come_from_the_installation(bench: ProviderHarness, github: GitHubDouble) -> None:
    for number in range(120):
        github.repo(f"octo/r{number}")
    first = await bench.provider.browse(bench.connection(), None, "", None)
    second = await bench.provider.browse(bench.connection(), None, "", first.next_page_token)
    assert len(first.entries) + len(second.entries) == 121
    ids = [str(number) for number in github.repos]
    assert (await bench.provider.resolve_names(bench.connection(), "repos", ids))[ids[-1]] == "octo/r119"


async def test_a_wrong_key_is_the_operators_matter(github: GitHubDouble) -> None:
    for pem in (RSAKey.generate_key(2048).as_pem(private=True).decode(), "no key", ""):
        with pytest.raises(MisconfigurationError, match="RECOLLECT_GITHUB_APP_PRIVATE_KEY"):
            await _bench(github, GitHubApp("12", pem)).run()


async def test_a_key_on_one_line_is_taken(github: GitHubDouble) -> None:
    bench = _bench(github, GitHubApp("12", PEM.replace("\n", "\\n")))
    await bench.run()
    assert bench.items


async def test_of_several_installations_one_has_to_be_named(github: GitHubDouble) -> None:
    github.installations[78] = "other"
    with pytest.raises(MisconfigurationError, match=r"RECOLLECT_GITHUB_APP_INSTALLATION.*78 \(other\)"):
        await _bench(github, GitHubApp("12", PEM)).run()
    named = _bench(github, GitHubApp("12", PEM, "78"))
    await named.run()
    assert named.items


@pytest.mark.parametrize(("installation", "error"), [("79", AuthExpiredError), (None, MisconfigurationError)])
async def test_an_app_that_is_not_installed_says_so(
    github: GitHubDouble, installation: str | None, error: type[ConnectorError]
) -> None:
    github.installations.clear()
    with pytest.raises(error, match=r"[Ii]nstall"):
        await _bench(github, replace(GitHubApp("12", PEM), installation_id=installation)).run()
