"""The packages of the code mean this checkout, and a path tells what a file holds."""

import importlib.util
from collections import Counter, defaultdict
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
NAMES = ["schemas", "pipeline", "api", "connectors", "app"]
MAX_MODULES = 15
FIXED = {"__init__.py", "__main__.py", "errors.py"}
"""Names that Python fixes, and the errors of each layer."""


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
    """Tests of the same file name hide one another unless their folders are packages."""
    folders = {path.parent for path in (ROOT / "tests").rglob("test_*.py")}
    assert [str(folder) for folder in folders if not (folder / "__init__.py").exists()] == []


def _modules() -> list[Path]:
    return [path for name in NAMES for path in (ROOT / name).rglob("*.py")]


def test_no_folder_holds_more_modules_than_a_reader_can_overlook() -> None:
    counts = Counter(path.parent for path in _modules() if path.name != "__init__.py")
    assert {str(folder.relative_to(ROOT)): count for folder, count in counts.items() if count > MAX_MODULES} == {}


def test_modules_share_a_name_only_in_sibling_folders() -> None:
    """Sibling folders do the same job for different things, as the folders of two providers do."""
    places = defaultdict(set)
    for path in _modules():
        if path.name not in FIXED:
            places[path.name].add(path.parent.parent)
    assert {name: sorted(map(str, parents)) for name, parents in places.items() if len(parents) > 1} == {}
