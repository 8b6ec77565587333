"""The plugin's arithmetic: which branches a module has, which were entered, and how runs are added up."""

import pytest

from tools.branch_coverage import FLAGS, instrument

SOURCE = '''
"""A module."""
from __future__ import annotations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import nothing_that_exists


class Shop:
    """A class."""

    def sells(self, what: str) -> bool:
        """Its docstring stays first."""
        if what == "bread":
            return True
        for each in ("tea", "rice"):
            if each == what:
                break
        else:
            return False
        return True

    def declared(self) -> None: ...


async def safely(divisor: int) -> float:
    while divisor > 9:
        divisor -= 1
    try:
        return 1 / divisor
    except ZeroDivisionError:
        return 0.0


def name(number: int) -> str:
    match number:
        case 1:
            return "one"
        case _:
            return "many"
'''


def _entered(*statements: str) -> tuple[set[str], set[str]]:
    """First lines of the branches entered by these statements, and of the others."""
    tree, branches = instrument(SOURCE, "shop.py")
    flags = bytearray(len(branches))
    module: dict[str, object] = {FLAGS: flags}
    exec(compile(tree, "shop.py", "exec"), module)  # noqa: S102 - the sample above
    for statement in statements:
        exec(statement, module)  # noqa: S102 - the tests' own
    lines = SOURCE.splitlines()
    entered, missed = (
        {lines[branch.line - 1].strip() for branch, flag in zip(branches, flags, strict=True) if flag == wanted}
        for wanted in (1, 0)
    )
    return entered, missed


def test_a_module_that_is_only_imported_enters_no_function() -> None:
    assert _entered()[0] == set()


@pytest.mark.parametrize(
    ("call", "entered", "missed"),
    [
        ("assert Shop().sells('bread')", {"return True"}, {"if each == what:", "break", "return False"}),
        ("assert Shop().sells('tea')", {"break"}, {"return True", "return False"}),
        ("assert not Shop().sells('milk')", {"if each == what:", "return False"}, {"return True", "break"}),
        ("assert name(1) == 'one'", {'return "one"'}, {'return "many"'}),
        ("assert name(2) == 'many'", {'return "many"'}, {'return "one"'}),
    ],
)
def test_each_arm_is_a_branch(call: str, entered: set[str], missed: set[str]) -> None:
    got, others = _entered(call)
    assert entered <= got
    assert missed <= others


def test_loops_and_errors_in_coroutines_are_branches() -> None:
    call = "try: safely({}).send(None)\nexcept StopIteration: pass"
    assert {"divisor -= 1", "return 0.0"} <= _entered(call.format(3))[1]
    assert "divisor -= 1" in _entered(call.format(10))[0]
    assert "return 0.0" in _entered(call.format(0))[0]


def test_declarations_and_imports_for_types_are_no_branches() -> None:
    entered, missed = _entered()
    assert not {"import nothing_that_exists", "def declared(self) -> None: ..."} & (entered | missed)


def test_statements_belong_to_the_branch_that_always_runs_them() -> None:
    _, branches = instrument("def f():\n    with a:\n        b()\n        if c:\n            d()\n    e()\n", "f.py")
    assert [(branch.line, branch.statements) for branch in branches] == [(1, 1), (2, 4), (5, 1), (4, 0)]
