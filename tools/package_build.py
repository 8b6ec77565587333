"""Build hook of hatchling: a wheel holds the product's folders inside the package `recollect`.

The folders keep their names in the repository. In a wheel they move under `recollect/`, so that `api` or `schemas` of
another distribution can't shadow them, and their absolute imports are rewritten accordingly. Nothing else of a module
changes: lines and columns after an import statement stay the same. The documentation is built beside them.
"""

import ast
import shutil
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from mkdocs.commands.build import build as build_site
from mkdocs.config import load_config

PACKAGE = "recollect"
FOLDERS = ("api", "app", "connectors", "pipeline", "schemas")
RUNTIME_DOCS = ("docs/asyncapi.json",)
"""Documents that the service itself serves."""
SITE = "site"
"""Folder of the built documentation, beside the product's folders."""


class UnmovableImportError(Exception):
    """An import that would bind another name after the move."""


class PackageBuildHook(BuildHookInterface[Any]):
    """Writes the moved folders to a temporary folder, from which hatchling packs them."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the moved folders to a wheel; an editable install uses the checkout as it is."""
        if version == "editable":
            return
        self._staging = Path(mkdtemp(prefix="recollect-wheel-"))
        stage_package(Path(self.root), self._staging / PACKAGE)
        build_data["force_include"][str(self._staging / PACKAGE)] = PACKAGE

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002 - the hook's interface
        """Remove the temporary folder."""
        if version != "editable":
            shutil.rmtree(self._staging)


def stage_package(root: Path, target: Path) -> None:
    """Write the package of a wheel to `target`, from the checkout at `root`."""
    shutil.copytree(root / PACKAGE, target, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in FOLDERS:
        shutil.copytree(root / folder, target / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for document in RUNTIME_DOCS:
        (target / document).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / document, target / document)
    for module in target.rglob("*.py"):
        source = module.read_text("utf-8")
        module.write_text(move_imports(source, str(module.relative_to(target))), "utf-8")
    build_site(load_config(str(root / "mkdocs.yml"), site_dir=str(target / SITE), strict=False))


def move_imports(source: str, name: str) -> str:
    """Prefix the modules that a source imports from FOLDERS with the package.

    Raises:
        UnmovableImportError: `import api.x` binds `api`, which there is none of after the move.
    """
    lines = source.encode().splitlines(keepends=True)  # columns of the syntax tree count bytes
    for node in ast.walk(ast.parse(source, name)):
        if isinstance(node, ast.ImportFrom) and not node.level and _is_ours(node.module):
            _insert(lines, node.lineno, node.col_offset + len("from "))
        elif isinstance(node, ast.Import) and any(_is_ours(alias.name) for alias in node.names):
            raise UnmovableImportError(f"{name}:{node.lineno}: write `from … import …`: `import …` can't be moved")
    return b"".join(lines).decode()


def _is_ours(module: str | None) -> bool:
    return (module or "").partition(".")[0] in FOLDERS


def _insert(lines: list[bytes], number: int, column: int) -> None:
    line = lines[number - 1]
    lines[number - 1] = line[:column] + f"{PACKAGE}.".encode() + line[column:]
