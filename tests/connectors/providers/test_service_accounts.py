"""Google service accounts that act for users of a Workspace: tokens, their renewal, and what is wrong in words."""

import json
from datetime import timedelta
from pathlib import Path

import pytest
from joserfc.jwk import RSAKey

from connectors.client.access_token import AccessTokenSource
from connectors.errors import ConnectorError, MisconfigurationError, ProviderUnavailableError
from connectors.providers.gmail.provider import SCOPE as GMAIL_SCOPE
from connectors.providers.gmail.provider import Gmail
from connectors.providers.google.oauth_client import GoogleOAuthClient
from connectors.providers.google.service_account import ServiceAccount, parse_subjects
from connectors.providers.google_drive.provider import SCOPE as DRIVE_SCOPE
from connectors.providers.google_drive.provider import GoogleDrive
from tests.support.connectors.in_memory_sync import connect, http_clients
from tests.support.connectors.provider_harness import ProviderHarness
from tests.support.fakes import FixedClock
from tests.support.providers.gmail_double import GmailDouble
from tests.support.providers.google_drive_double import GoogleDriveDouble

pytestmark = pytest.mark.anyio
KEY, OTHER_KEY = RSAKey.generate_key(2048), RSAKey.generate_key(2048)
CLIENT_ID = "103987654321"


def json_key(key: RSAKey = KEY) -> str:
    """The file that Google's console makes."""
    return json.dumps(
        {
            "type": "service_account",
            "client_email": "reader@project.iam.gserviceaccount.com",
            "client_id": CLIENT_ID,
            "private_key_id": "k1",
            "private_key": key.as_pem(private=True).decode(),
        }
    )


@pytest.fixture
def mail() -> GmailDouble:
    double = GmailDouble()
    double.accounts.service_key = KEY
    double.accounts.delegated_scopes = {GMAIL_SCOPE}
    double.accounts.users = {"ada@example.com", "bob@example.com"}
    double.accounts.access_tokens.clear()
    return double


def gmail(mail: GmailDouble, clock: FixedClock, key: str = json_key(), subjects: str = "team=ada@example.com") -> Gmail:
    account = ServiceAccount(key, parse_subjects(subjects), mail.address)
    return Gmail(GoogleOAuthClient("", "", mail.address, token_url=mail.address, service_account=account), clock=clock)


def tokens(provider: Gmail, mail: GmailDouble, namespace: str | None = "team") -> AccessTokenSource:
    source = provider.service_token_source(connect(provider, http_clients(mail, mail)).http, namespace)
    assert source is not None
    return source


async def test_mail_is_read_for_the_user_of_the_namespace(mail: GmailDouble) -> None:
    mail.deliver("Tides", "High water at noon.")
    provider = gmail(mail, FixedClock())
    assert provider.oauth is None
    bench = ProviderHarness(provider, mail, access=tokens(provider, mail))
    await bench.run()
    assert {item.title for item in bench.items.values()} == {"Tides"}
    [claims] = mail.accounts.delegations
    assert claims["sub"] == "ada@example.com"
    assert claims["iss"] == "reader@project.iam.gserviceaccount.com"
    assert claims["aud"] == f"{mail.address}/token"
    mail.assert_no_violations()


async def test_drive_is_read_with_its_own_scope() -> None:
    drive = GoogleDriveDouble()
    drive.accounts.service_key, drive.accounts.delegated_scopes = KEY, {DRIVE_SCOPE}
    drive.accounts.users = {"ada@example.com"}
    drive.accounts.access_tokens.clear()
    account = ServiceAccount(json_key(), parse_subjects("ada@example.com"), drive.address)
    client = GoogleOAuthClient("", "", drive.address, token_url=drive.address, service_account=account)
    provider = GoogleDrive(client, clock=FixedClock())
    source = provider.service_token_source(connect(provider, http_clients(drive, drive)).http, "any")
    bench = ProviderHarness(provider, drive, access=source, config={"syncScope": "full"})
    assert (await provider.fetch_account(bench.connection())).name


async def test_a_token_is_renewed_before_it_ends_and_where_it_is_rejected(mail: GmailDouble) -> None:
    clock = FixedClock()
    provider = gmail(mail, clock)
    bench = ProviderHarness(provider, mail, access=tokens(provider, mail))
    await bench.run()
    await bench.run()
    assert len(mail.accounts.delegations) == 1
    clock.advance(timedelta(minutes=56).total_seconds())
    await bench.run()
    assert len(mail.accounts.delegations) == 2
    mail.accounts.expire()
    await bench.run()
    assert len(mail.accounts.delegations) == 3


@pytest.mark.parametrize(
    ("namespace", "user"), [("team", "ada@example.com"), ("sales", "bob@example.com"), ("other", "root@example.com")]
)
async def test_each_namespace_has_its_user(namespace: str, user: str) -> None:
    subjects = parse_subjects("team=ada@example.com, sales=bob@example.com,root@example.com")
    assert ServiceAccount("{}", subjects, "").subject(namespace) == user


async def test_a_namespace_that_the_operator_did_not_name_gets_nothing(mail: GmailDouble) -> None:
    with pytest.raises(MisconfigurationError, match="RECOLLECT_GOOGLE_SUBJECTS"):
        await tokens(gmail(mail, FixedClock()), mail, "other").token()
    with pytest.raises(ProviderUnavailableError):
        await tokens(gmail(mail, FixedClock()), mail, None).token()
    assert mail.accounts.delegations == []


async def test_a_scope_that_is_not_granted_is_named_with_the_client_id(mail: GmailDouble) -> None:
    mail.accounts.delegated_scopes = set()
    with pytest.raises(MisconfigurationError, match="Domain-wide delegation") as refused:
        await tokens(gmail(mail, FixedClock()), mail).token()
    assert CLIENT_ID in str(refused.value)
    assert GMAIL_SCOPE in str(refused.value)


@pytest.mark.parametrize(
    ("key", "subjects", "said"),
    [
        (json_key(), "team=nobody@example.com", "no active user nobody@example.com"),
        (json_key(OTHER_KEY), "team=ada@example.com", "was deleted or is of another one"),
        (json_key().replace("-----BEGIN", "-----"), "team=ada@example.com", "damaged"),
        ("{}", "team=ada@example.com", "RECOLLECT_GOOGLE_SERVICE_ACCOUNT"),
        ("/no/such/file", "team=ada@example.com", "RECOLLECT_GOOGLE_SERVICE_ACCOUNT"),
    ],
)
async def test_what_is_wrong_is_said(mail: GmailDouble, key: str, subjects: str, said: str) -> None:
    with pytest.raises(ConnectorError, match=said) as refused:
        await tokens(gmail(mail, FixedClock(), key, subjects), mail).token()
    assert "PRIVATE" not in str(refused.value)


async def test_the_key_may_be_in_a_file(mail: GmailDouble, tmp_path: Path) -> None:
    path = tmp_path / "key.json"
    path.write_text(json_key())
    assert await tokens(gmail(mail, FixedClock(), str(path)), mail).token()
