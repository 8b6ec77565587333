"""Imports are moved under one package, and nothing else of a source changes."""

import ast
from pathlib import Path

import pytest

from tools.package_build import FOLDERS, UnmovableImportError, move_imports

ROOT = Path(__file__).parents[2]
SOURCES = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("from api import openapi\n", "from recollect.api import openapi\n"),
        ("from pipeline.bus.port import Bus\n", "from recollect.pipeline.bus.port import Bus\n"),
        (
            "def f():\n    from app.x import (\n        y,\n    )\n",
            "def f():\n    from recollect.app.x import (\n        y,\n    )\n",
        ),
        ("é = 1; from schemas import ids\n", "é = 1; from recollect.schemas import ids\n"),
        ("from apis import x\nimport json\n", "from apis import x\nimport json\n"),
        ("text = 'from api import x'\n", "text = 'from api import x'\n"),
        ("from importlib.metadata import version\n", "from importlib.metadata import version\n"),
    ],
)
def test_only_imports_of_our_folders_are_moved(before: str, after: str) -> None:
    assert move_imports(before, "module.py") == after


@pytest.mark.parametrize("statement", ["import api\n", "import api.errors\n", "import json, pipeline.stage as stage\n"])
def test_an_import_that_binds_the_folder_is_refused(statement: str) -> None:
    with pytest.raises(UnmovableImportError, match=r"module.py:1: write `from … import …`"):
        move_imports(statement, "module.py")


def test_every_module_can_be_moved_and_keeps_its_lines() -> None:
    for path in SOURCES:
        source = path.read_text("utf-8")
        moved = move_imports(source, str(path))
        assert len(moved.splitlines()) == len(source.splitlines())
        roots = {
            node.module.split(".")[0]
            for node in ast.walk(ast.parse(moved))
            if isinstance(node, ast.ImportFrom) and node.module
        }
        assert not roots & set(FOLDERS), path
