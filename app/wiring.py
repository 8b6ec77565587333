"""Wiring by name: a part says in its constructor what it needs, and is given the parts of those names."""

from collections.abc import Callable
from inspect import signature
from typing import Any, TypeVar

T = TypeVar("T")


def wire(kind: Callable[..., T], *owners: object, **given: Any) -> T:
    """Make a part of what is given, and for its other parameters of the first owner's attribute with that name."""
    for name in signature(kind).parameters.keys() - given.keys():
        for owner in owners:
            if hasattr(owner, name):
                given[name] = getattr(owner, name)
                break
    return kind(**given)
