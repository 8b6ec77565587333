"""pytest plugin that measures which statements and branches of the product the tests run.

A tracer of lines doubles the CPU time of tests of pure Python before 3.12. Here the product's modules are compiled with
one assignment at the beginning of each branch: of a function, a loop, an arm of `if`, `try` and `match`, and where an
`if` or a loop without `else` goes on. A statement counts as run when its branch was entered. Commands and servers are
processes of their own and not measured. PYTEST_PLUGINS=tools.branch_coverage loads it, also in xdist's workers.
"""

import ast
import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import pytest

ROOT: Final = Path(__file__).parent.parent
PACKAGES: Final = ("api", "app", "connectors", "pipeline", "schemas")
DATA_FILE: Final = ROOT / ".branch-coverage.json"
FLAGS: Final = "__entered_branches__"
"""Name, in each module, of a bytearray with a 1 for each branch that was entered."""


@dataclass(frozen=True, slots=True)
class Branch:
    """A branch by its first line, and the statements that are in it and in no branch inside it."""

    line: int
    statements: int


class BranchInstrumenter(ast.NodeTransformer):
    """Adds the assignments to a module, and lists its branches. Line numbers stay."""

    def __init__(self) -> None:
        self.branches: list[Branch] = []

    def visit_Module(self, node: ast.Module) -> ast.Module:
        self._count(node.body, 1)
        self.generic_visit(node)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._function(node)

    def visit_If(self, node: ast.If) -> ast.AST:
        if "TYPE_CHECKING" in ast.dump(node.test):
            return node
        node.body, node.orelse = self._branch(node.body), self._branch(node.orelse, node)
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        node.body, node.orelse = self._branch(node.body), self._branch(node.orelse, node)
        return node

    def visit_AsyncFor(self, node: ast.AsyncFor) -> ast.AST:
        node.body, node.orelse = self._branch(node.body), self._branch(node.orelse, node)
        return node

    def visit_While(self, node: ast.While) -> ast.AST:
        node.body = self._branch(node.body)
        if not isinstance(node.test, ast.Constant):
            node.orelse = self._branch(node.orelse, node)
        return node

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        node.body = self._branch(node.body)
        return node

    def visit_match_case(self, node: ast.match_case) -> ast.AST:
        node.body = self._branch(node.body)
        return node

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        has_docstring = ast.get_docstring(node, clean=False) is not None
        opening, body = node.body[:has_docstring], node.body[has_docstring:]
        is_declaration = all(isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant) for part in body)
        if not is_declaration:
            node.body = [*opening, *self._branch(body)]
        return node

    def _branch(self, body: list[ast.stmt], owner: ast.stmt | None = None) -> list[ast.stmt]:
        """The body of a branch with its assignment; `owner` is the statement whose missing `else` it is."""
        first = body[0] if body or owner is None else owner
        index = len(self.branches)
        self._count(body, first.lineno)
        target = ast.Subscript(ast.Name(FLAGS, ast.Load()), ast.Constant(index), ast.Store())
        entered = ast.Assign([target], ast.Constant(1))
        ast.fix_missing_locations(ast.copy_location(entered, first))
        return [entered, *(self.visit(statement) for statement in body)]

    def _count(self, body: Sequence[ast.stmt], line: int) -> None:
        self.branches.append(Branch(line, sum(1 for _ in _own_statements(body))))


def _own_statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements that run whenever the body does: those of `with`, `try` and classes, but of no branch inside."""
    for statement in body:
        yield statement
        for inner in ("body", "finalbody") if isinstance(statement, ast.Try | ast.TryStar) else ("body",):
            if isinstance(statement, ast.With | ast.AsyncWith | ast.ClassDef | ast.Try | ast.TryStar):
                yield from _own_statements(getattr(statement, inner))


def instrument(source: str | bytes, path: str) -> tuple[ast.Module, list[Branch]]:
    """Module that sets a flag at each branch, and its branches."""
    instrumenter = BranchInstrumenter()
    return instrumenter.visit(ast.parse(source, path)), instrumenter.branches


class _InstrumentingLoader(SourceFileLoader):
    """Loads a module with its assignments, neither from compiled files nor into them."""

    def __init__(self, name: str, path: str, flags: dict[str, bytearray]) -> None:
        super().__init__(name, path)
        self._flags = flags

    def exec_module(self, module: ModuleType) -> None:
        tree, branches = instrument(self.get_data(self.path), self.path)
        flags = self._flags.setdefault(self.path, bytearray(len(branches)))
        flags[0] = 1
        module.__dict__[FLAGS] = flags
        exec(compile(tree, self.path, "exec", dont_inherit=True), module.__dict__)  # noqa: S102 - what importing is


class _InstrumentingFinder(MetaPathFinder):
    """Finds the product's modules for the loader above."""

    def __init__(self, flags: dict[str, bytearray]) -> None:
        self._flags = flags

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] not in PACKAGES:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _InstrumentingLoader(fullname, spec.loader.path, self._flags)
        return spec


class BranchCoveragePlugin:
    """Collects what one process has run, and adds up and judges it in the process that controls the others."""

    def __init__(self, *, append: bool, floor: float) -> None:
        self.flags: dict[str, bytearray] = {}
        self._floor = floor
        self._report = ""
        if append and DATA_FILE.exists():
            self._add(json.loads(DATA_FILE.read_text()))
        sys.meta_path.insert(0, _InstrumentingFinder(self.flags))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
        if output is not None:
            output["branch_coverage"] = self._data()
            return
        DATA_FILE.write_text(json.dumps(self._data()))
        percent = self.percent()
        self._report = f"{percent:.1f} % of statements and branches were run; the floor is {self._floor:g} %."
        if percent < self._floor and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Add what a worker of pytest-xdist has run."""
        self._add(getattr(node, "workeroutput", {}).get("branch_coverage", {}))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.write_line(self._report)

    def percent(self) -> float:
        """Statements and branches that were run, of all of the product."""
        run = total = 0
        for package in PACKAGES:
            for path in (ROOT / package).rglob("*.py"):
                _, branches = instrument(path.read_bytes(), str(path))
                flags = self.flags.get(str(path), bytes(len(branches)))
                for entered, branch in zip(flags, branches, strict=True):
                    total += branch.statements + 1
                    run += (branch.statements + 1) * entered
        return 100 * run / total

    def _data(self) -> dict[str, str]:
        return {path: flags.hex() for path, flags in self.flags.items()}

    def _add(self, data: dict[str, str]) -> None:
        for path, encoded in data.items():
            more = bytes.fromhex(encoded)
            flags = self.flags.setdefault(path, bytearray(len(more)))
            for index, entered in enumerate(more):
                flags[index] |= entered


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--branch-coverage-append", action="store_true", help="add to what the run before has covered")
    parser.addoption("--branch-coverage-floor", type=float, default=0.0, help="percentage below which the tests fail")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Begin before any conftest.py imports the product."""
    options = early_config.known_args_namespace
    append = options.branch_coverage_append and "PYTEST_XDIST_WORKER" not in os.environ
    plugin = BranchCoveragePlugin(append=append, floor=options.branch_coverage_floor)
    early_config.pluginmanager.register(plugin, "branch-coverage")
