"""Measure how large and how deep the product's code is at a commit: `python -m bench.code_size [COMMIT]`.

Floors of a folder: the longest chain of imports among its own modules, in modules. Docstrings that start badly begin
with a pronoun or a preposition.
"""

import argparse
import ast
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import PurePosixPath

ROOTS = ("api", "app", "connectors", "pipeline", "schemas", "recollect", "tools")
FUNCTIONS_SHOWN = 3
_BAD_START = re.compile(
    r"(?:It|Its|They|Their|He|She|We|Our|You|Your|This|These|That|Those|Who|Which|Whose|One|Ones|What|When|Where|How|Why|If"
    r"|In|On|At|By|For|From|To|With|Without|Of|As|After|Before|Under|Over|Into|Among|Between|Until|Since|Per)\b"
)


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], check=True, capture_output=True, text=True).stdout  # noqa: S603, S607 - the caller's own git


def read_product(commit: str) -> dict[str, str]:
    """Return the product's Python files at a commit by their path; single modules at the top count too."""
    paths = [path for path in _git("ls-tree", "-r", "--name-only", commit).splitlines() if path.endswith(".py")]
    chosen = [path for path in paths if path.partition("/")[0] in ROOTS or "/" not in path]
    return {path: _git("show", f"{commit}:{path}") for path in chosen}


def floors(modules: Mapping[str, ast.Module]) -> int:
    """Return the longest chain of imports among the modules of a folder; a circle counts once."""
    names = {name.removesuffix(".py").replace("/", "."): name for name in modules}
    below = {name: set(_imported(tree, names)) - {name} for name, tree in modules.items()}

    @cache
    def depth(name: str, seen: frozenset[str] = frozenset()) -> int:
        return 1 + max((depth(other, seen | {name}) for other in below[name] if other not in seen), default=0)

    return max(map(depth, modules), default=0)


def _imported(tree: ast.Module, names: Mapping[str, str]) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (names[name] for name in [node.module] if name in names)
            yield from (names[name] for part in node.names if (name := f"{node.module}.{part.name}") in names)


def _functions(trees: Mapping[str, ast.Module]) -> Iterator[tuple[int, str]]:
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield (node.end_lineno or 0) - node.lineno + 1, f"{path} {node.name}"


def _docstrings(trees: Mapping[str, ast.Module]) -> Iterator[str]:
    for tree in trees.values():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            if text := ast.get_docstring(node):
                yield text


def main() -> None:
    """Print the measures of a commit as Markdown rows."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("commit", nargs="?", default="HEAD", help="default: HEAD")
    commit = parser.parse_args().commit
    sources = read_product(commit)
    trees = {path: ast.parse(source) for path, source in sources.items()}
    lines = sum(len(text.splitlines()) for text in sources.values())
    print(f"| product, lines (files) | {lines:,} ({len(sources):,}) |")
    folders: defaultdict[str, dict[str, ast.Module]] = defaultdict(dict)
    for path, tree in trees.items():
        if not path.endswith("__init__.py"):
            folders[str(PurePosixPath(path).parent)][path] = tree
    deep = {name: floors(modules) for name, modules in folders.items()}
    print(f"| folders | {len(folders)} |")
    print(f"| most files in a folder | {max(map(len, folders.values()))} |")
    print(f"| most floors in a folder | {max(deep.values())} |")
    for name, modules in sorted(folders.items(), key=lambda item: -len(item[1]))[:8]:
        print(f"| {name}: files, floors | {len(modules)}, {deep[name]} |")
    lengths = sorted(_functions(trees), reverse=True)
    print(f"| functions over 50 lines | {sum(length > 50 for length, _ in lengths)} of {len(lengths):,} |")
    print(f"| 90th percentile of functions, lines | {lengths[len(lengths) // 10][0]} |")
    for length, name in lengths[:FUNCTIONS_SHOWN]:
        print(f"| longest function: {name} | {length} |")
    texts = list(_docstrings(trees))
    bad = sum(_BAD_START.match(text) is not None for text in texts)
    print(f"| docstrings that start badly | {bad} of {len(texts):,} ({bad / len(texts):.1%}) |")
    records = _git("ls-tree", "--name-only", commit, "docs/decisions/").splitlines()
    print(f"| decision records | {sum('README' not in name for name in records)} |")
    if "docs/glossary.md" in _git("ls-tree", "-r", "--name-only", commit).splitlines():
        rows = [line for line in _git("show", f"{commit}:docs/glossary.md").splitlines() if line.startswith("| ")]
        print(f"| own words in the glossary | {len(rows) - 1} |")


if __name__ == "__main__":
    main()
