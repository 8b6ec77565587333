"""The four names of the code mean this checkout, and nobody else's."""

import importlib.util
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
NAMES = ["schemas", "pipeline", "api", "connectors"]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_means_the_folder_of_this_checkout(name: str) -> None:
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    assert Path(spec.origin) == ROOT / name / "__init__.py"


@pytest.mark.parametrize("name", NAMES)
def test_no_installed_distribution_brings_the_name(name: str) -> None:
    others = set(packages_distributions().get(name, [])) - {"recollect"}
    assert not others, f"{', '.join(sorted(others))} would shadow {name}/"


def test_every_folder_of_tests_is_a_package() -> None:
    """Else two tests of the same file name hide one another."""
    folders = {path.parent for path in (ROOT / "tests").rglob("test_*.py")}
    assert [str(folder) for folder in folders if not (folder / "__init__.py").exists()] == []
