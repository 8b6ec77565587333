"""A wheel of this checkout, and an environment that holds nothing but the wheel and its locked dependencies."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
UV = ROOT / ".uv" / "bin" / "uv"


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from the checkout."""
    return build(ROOT, "wheel", tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an environment's programs."""
    if not UV.exists():
        pytest.skip("needs a peer that is not installed: uv, which `make install` brings")
    environment = tmp_path_factory.mktemp("installed") / "env"
    python = environment / "bin" / "python"
    locked: list[str | Path] = [UV, "sync", "--frozen", "--quiet", "--no-dev", "--no-install-project"]
    run(locked, variables={"UV_PROJECT_ENVIRONMENT": str(environment), "UV_PYTHON": sys.executable})
    run([UV, "pip", "install", "--quiet", "--no-deps", "--python", python, wheel])
    run([UV, "pip", "check", "--quiet", "--python", python])
    return python.parent


def build(source: Path, target: str, folder: Path) -> Path:
    """Build a wheel or an sdist of a source tree with the locked build tools; return the file."""
    run([sys.executable, "-m", "hatchling", "build", "-t", target, "-d", folder], folder=source)
    (built,) = (path for path in folder.iterdir() if path.name.startswith("recollect-"))
    return built


def run(command: list[str | Path], *, folder: Path = ROOT, variables: dict[str, str] | None = None) -> str:
    """Run a command and return its output; its error output is the message of a failure."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("RECOLLECT_", "VIRTUAL_ENV"))}
    done = subprocess.run(  # noqa: S603 - programs that are installed here
        command, cwd=folder, env=own | (variables or {}), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}:\n{done.stdout}\n{done.stderr}"
    return done.stdout
