"""Providers of a deployment by its settings."""

import subprocess
import sys
import typing
from pathlib import Path

from connectors.providers.provider_registry import open_providers
from schemas.http.v5.connector_bodies import Provider
from tests.support.fakes import FixedClock
from tests.support.service_world import service_settings

APPS = ("notion", "github", "google", "microsoft")


def test_what_needs_no_app_of_the_operators_is_always_there(tmp_path: Path) -> None:
    found = open_providers(service_settings(tmp_path), FixedClock())
    assert sorted(found) == ["granola", "s3", "web-crawler"]
    assert all(provider.oauth is None for provider in found.values())


def test_with_every_app_there_are_all_of_the_interface(tmp_path: Path) -> None:
    given = {f"{app}_client_{part}": f"the {part}" for app in APPS for part in ("id", "secret")}
    found = open_providers(service_settings(tmp_path, **given), FixedClock())
    assert sorted(found) == sorted(typing.get_args(Provider))
    for name, provider in found.items():
        assert provider.name == name
        if provider.oauth is not None:
            assert (provider.oauth.client_id, provider.oauth.client_secret) == ("the id", "the secret")
            assert provider.api_origins


def test_a_service_that_nothing_is_connected_to_imports_nothing_that_connecting_needs() -> None:
    modules = "app.cli.main, api.application, app.connector_composition, app.pipeline_supervisor"
    code = f"import sys, {modules}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603 - our own code
    heavy = {"authlib", "cryptography", "joserfc", "trafilatura", "lxml", "html_to_markdown", "botocore"}
    assert not heavy & set(done.stdout.split())
