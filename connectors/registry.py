"""The providers that this deployment has: those that need no app of the operator's, and those with one."""

from collections.abc import Iterator
from dataclasses import replace

from pydantic import SecretStr

from connectors.http import fetched
from connectors.ports import Provider
from connectors.providers.github import GitHub
from connectors.providers.gmail import Gmail, Push
from connectors.providers.google import GoogleClient
from connectors.providers.google_drive import GoogleDrive
from connectors.providers.google_push import GoogleKeys
from connectors.providers.granola import Granola
from connectors.providers.graph import MicrosoftClient
from connectors.providers.notion import Notion
from connectors.providers.onedrive import OneDrive
from connectors.providers.s3 import S3
from connectors.providers.sns import Topics
from connectors.providers.web_crawler import WebCrawler
from pipeline.ports import Clock
from pipeline.settings import Settings


def open_providers(settings: Settings, clock: Clock) -> dict[str, Provider]:
    """By name. A new one is yielded below."""
    made = [
        *_notion(settings),
        *_github(settings, clock),
        Granola(api=settings.granola_url),
        S3(_topics(settings)),
        *_google(settings, clock),
        *_microsoft(settings, clock),
        WebCrawler(clock=clock),
    ]
    return {provider.name: provider for provider in made}


def _notion(settings: Settings) -> Iterator[Provider]:
    if settings.notion_client_id is not None:
        yield Notion(
            settings.notion_client_id,
            _secret(settings.notion_client_secret),
            webhook_secret=_secret(settings.notion_webhook_secret) or None,
            api=settings.notion_url,
        )


def _github(settings: Settings, clock: Clock) -> Iterator[Provider]:
    if settings.github_client_id is not None:
        yield GitHub(
            settings.github_client_id,
            _secret(settings.github_client_secret),
            webhook_secret=_secret(settings.github_webhook_secret) or None,
            api=settings.github_api_url,
            site=settings.github_url,
            clock=clock,
        )


def _google(settings: Settings, clock: Clock) -> Iterator[Provider]:
    if settings.google_client_id is None:
        return
    drive = GoogleClient(
        settings.google_client_id,
        _secret(settings.google_client_secret),
        settings.google_drive_url,
        settings.google_accounts_url,
        settings.google_token_url,
    )
    yield GoogleDrive(drive, clock=clock)
    yield Gmail(replace(drive, api=settings.gmail_url), clock=clock, push=_push(settings, clock))


def _push(settings: Settings, clock: Clock) -> Push | None:
    """Pub/Sub signs its pushes for the address they go to, unless it was told another audience."""
    topic, account, address = settings.gmail_topic, settings.gmail_push_account, settings.public_url
    if topic is None or account is None or address is None:
        return None
    keys = GoogleKeys(settings.google_certificates_url, fetched, clock)
    return Push(topic, f"{address.rstrip('/')}/webhooks/gmail", account, keys)


def _microsoft(settings: Settings, clock: Clock) -> Iterator[Provider]:
    if settings.microsoft_client_id is not None:
        client = MicrosoftClient(
            settings.microsoft_client_id,
            _secret(settings.microsoft_client_secret),
            settings.microsoft_tenant,
            settings.microsoft_graph_url,
            settings.microsoft_login_url,
        )
        yield OneDrive(client, clock=clock)


def _topics(settings: Settings) -> Topics | None:
    names = frozenset(settings.listed(settings.s3_topics))
    return Topics(names, fetched) if names else None


def _secret(value: SecretStr | None) -> str:
    return "" if value is None else value.get_secret_value()
