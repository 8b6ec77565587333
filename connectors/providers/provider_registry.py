"""Providers of this deployment: those without an app of the operator, and those configured with one."""

import shlex
from collections.abc import Iterator
from dataclasses import replace

from pydantic import SecretStr

from connectors.client.http_client import fetch_public_document
from connectors.provider_interface import Provider
from connectors.providers.github.installation import GitHubApp
from connectors.providers.github.provider import GitHub
from connectors.providers.gmail.provider import Gmail, PubSubConfig
from connectors.providers.google.oauth_client import GoogleOAuthClient
from connectors.providers.google.pubsub_push import GoogleSigningKeys
from connectors.providers.google.service_account import ServiceAccount, parse_subjects
from connectors.providers.google_drive.provider import GoogleDrive
from connectors.providers.granola.provider import Granola
from connectors.providers.notion.provider import Notion
from connectors.providers.onedrive.client import MicrosoftOAuthClient
from connectors.providers.onedrive.provider import OneDrive
from connectors.providers.s3.credentials import ServiceRole
from connectors.providers.s3.provider import S3
from connectors.providers.s3.sns import SnsTopics
from connectors.providers.web_crawler.browser_rendering import ChromiumRenderer, PageRenderer
from connectors.providers.web_crawler.provider import WebCrawler
from pipeline.ports import Clock
from pipeline.settings import Settings
from schemas.public_addresses import is_public


def open_providers(settings: Settings, clock: Clock) -> dict[str, Provider]:
    """Build the configured providers by name; new providers are added below."""
    made = [
        *_notion(settings),
        *_github(settings, clock),
        Granola(api_url=settings.granola_url),
        S3(_sns_topics(settings), ServiceRole(frozenset(settings.split_list(settings.s3_role_buckets)))),
        *_google(settings, clock),
        *_microsoft(settings, clock),
        WebCrawler(clock=clock, renderer=_page_renderer(settings)),
    ]
    return {provider.name: provider for provider in made}


def _page_renderer(settings: Settings) -> PageRenderer | None:
    if not settings.crawler_browser:
        return None
    allow_private = settings.fetch_private_addresses
    return ChromiumRenderer(shlex.split(settings.crawler_browser), (lambda _: True) if allow_private else is_public)


def _notion(settings: Settings) -> Iterator[Provider]:
    if settings.notion_client_id is not None or settings.notion_token is not None:
        yield Notion(
            settings.notion_client_id,
            _secret(settings.notion_client_secret),
            token=_secret(settings.notion_token) or None,
            webhook_secret=_secret(settings.notion_webhook_secret) or None,
            api_url=settings.notion_url,
        )


def _github(settings: Settings, clock: Clock) -> Iterator[Provider]:
    app = _github_app(settings)
    if settings.github_client_id is not None or app is not None:
        yield GitHub(
            settings.github_client_id,
            _secret(settings.github_client_secret),
            app=app,
            webhook_secret=_secret(settings.github_webhook_secret) or None,
            api_url=settings.github_api_url,
            site_url=settings.github_url,
            clock=clock,
        )


def _github_app(settings: Settings) -> GitHubApp | None:
    if settings.github_app_id is None or settings.github_app_private_key is None:
        return None
    return GitHubApp(settings.github_app_id, _secret(settings.github_app_private_key), settings.github_app_installation)


def _google(settings: Settings, clock: Clock) -> Iterator[Provider]:
    account = _service_account(settings)
    if settings.google_client_id is None and account is None:
        return
    drive = GoogleOAuthClient(
        settings.google_client_id or "",
        _secret(settings.google_client_secret),
        settings.google_drive_url,
        settings.google_accounts_url,
        settings.google_token_url,
        account,
    )
    yield GoogleDrive(drive, clock=clock)
    yield Gmail(replace(drive, api_url=settings.gmail_url), clock=clock, pubsub=_gmail_push(settings, clock))


def _service_account(settings: Settings) -> ServiceAccount | None:
    key = _secret(settings.google_service_account)
    subjects = parse_subjects(settings.google_subjects)
    return ServiceAccount(key, subjects, settings.google_token_url) if key else None


def _gmail_push(settings: Settings, clock: Clock) -> PubSubConfig | None:
    """Read the Pub/Sub settings; the audience of push tokens defaults to the webhook's URL."""
    topic, account, address = settings.gmail_pubsub_topic, settings.gmail_push_account, settings.public_url
    if topic is None or account is None or address is None:
        return None
    keys = GoogleSigningKeys(settings.google_certificates_url, fetch_public_document, clock)
    return PubSubConfig(topic, f"{address.rstrip('/')}/webhooks/gmail", account, keys)


def _microsoft(settings: Settings, clock: Clock) -> Iterator[Provider]:
    if settings.microsoft_client_id is not None:
        client = MicrosoftOAuthClient(
            settings.microsoft_client_id,
            _secret(settings.microsoft_client_secret),
            settings.microsoft_tenant,
            settings.microsoft_graph_url,
            settings.microsoft_login_url,
        )
        yield OneDrive(client, clock=clock)


def _sns_topics(settings: Settings) -> SnsTopics | None:
    names = frozenset(settings.split_list(settings.s3_sns_topics))
    return SnsTopics(names, fetch_public_document) if names else None


def _secret(value: SecretStr | None) -> str:
    return "" if value is None else value.get_secret_value()
