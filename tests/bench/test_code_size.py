"""Size and depth of the code are counted as a reader would."""

import ast

from bench.code_size import floors


def _modules(**imports: str) -> dict[str, ast.Module]:
    return {f"room/{name}.py": ast.parse(text) for name, text in imports.items()}


def test_floors_are_the_longest_chain_of_imports_within_a_folder() -> None:
    chain = _modules(top="from room.middle import a", middle="from room import base", base="import os", beside="x = 1")
    assert floors(chain) == 3


def test_what_other_folders_hold_is_no_floor() -> None:
    assert floors(_modules(top="from elsewhere.base import a", beside="from room.unknown import b")) == 1
