"""The settings of a command, or what is wrong with them in words."""

from typing import Any

from pydantic import ValidationError

from api.commandline.conventions import Ending, failure
from pipeline.settings import Settings


def configured(**given: Any) -> Settings:
    """From the environment and a .env file, with what the options give; typer.Exit where one can't be read.

    What stands there is not shown: it may be a secret.
    """
    try:
        return Settings(**{name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        wrong = [f"RECOLLECT_{one['loc'][0]}".upper() + f": {one['msg']}." for one in error.errors()]
        raise failure(
            "\n".join([*wrong, "docs/guides/configure.md has every setting."]), Ending.USAGE
        ) from error
