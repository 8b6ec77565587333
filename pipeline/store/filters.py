"""A filter expression as a condition of LanceDB over `tokens` and `facts` (see pipeline.store.metadata).

Every leaf is made true or false, never null, before it is negated. Literals are quoted in one place.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.store.codec import quoted
from pipeline.store.metadata import ordered, token
from schemas.filters import (
    And,
    ArrayContains,
    Compare,
    Contains,
    FilterExpression,
    FilterPredicate,
    Or,
    StringEquals,
    ValueEquals,
)

_SIGNS = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
_NEGATED = frozenset({"neq", "notContains", "arrayNotContains"})


@dataclass(frozen=True, slots=True)
class _Has:
    """An item that has this token, or (negated) lacks it; many of them become one look at the list."""

    token: str
    negated: bool


def condition(expression: FilterExpression) -> str:
    """The condition that an item passes the filter."""
    match expression:
        case And():
            return _group(expression.operands, "AND")
        case Or():
            return _group(expression.operands, "OR")
    leaf = _leaf(expression)
    return _any([leaf.token], leaf.negated) if isinstance(leaf, _Has) else leaf


def _group(operands: Sequence[FilterExpression], joint: str) -> str:
    parts = [part if isinstance(part, And | Or) else _leaf(part) for part in operands]
    # "any of these tokens" for OR, and "none of these tokens" for AND, are one condition each.
    bulk = joint == "AND"
    together = [part.token for part in parts if isinstance(part, _Has) and part.negated == bulk]
    single = [
        _any([part.token], part.negated) for part in parts if isinstance(part, _Has) and part.negated != bulk
    ]
    written = [part for part in parts if isinstance(part, str)]
    nested = [condition(part) for part in parts if isinstance(part, And | Or)]
    joined = [_any(together, bulk)] if together else []
    return "(" + f" {joint} ".join([*joined, *single, *written, *nested]) + ")"


def _leaf(predicate: FilterPredicate) -> _Has | str:
    negated = predicate.operator in _NEGATED
    match predicate:
        case StringEquals(case_sensitive=True):
            return _Has(token(predicate.field, "s", predicate.value), negated)
        case StringEquals():
            return _Has(token(predicate.field, "i", predicate.value.lower()), negated)
        case ValueEquals(value=bool()):
            return _Has(token(predicate.field, "b", str(predicate.value)), negated)
        case ValueEquals():
            number = ordered(predicate.value)
            return _Has(token(predicate.field, "n", number), negated) if number else _constant(negated)
        case ArrayContains():
            return _Has(token(predicate.field, "a", predicate.value), negated)
        case Compare():
            return _compare(predicate)
        case Contains():
            return _not(_contains(predicate), negated)


def _any(wanted: Sequence[str], negated: bool) -> str:
    literals = ",".join(map(quoted, dict.fromkeys(wanted)))
    return _not(f"coalesce(array_has_any(tokens,[{literals}]),false)", negated)


def _compare(predicate: Compare) -> str:
    number = ordered(predicate.value)
    if not number:
        return _constant(False)
    return f"coalesce({_fact('n', predicate.field)}{_SIGNS[predicate.operator]}{quoted(number)},false)"


def _contains(predicate: Contains) -> str:
    text = _fact("s", predicate.field)
    if predicate.case_sensitive:
        return f"coalesce(contains({text},{quoted(predicate.value)}),false)"
    lower = f"coalesce({_fact('i', predicate.field)},{text})"
    return f"coalesce(contains({lower},{quoted(predicate.value.lower())}),false)"


def _fact(kind: str, field: str) -> str:
    return f"json_get_string(facts,{quoted(f'{kind}:{field}')})"


def _not(sql: str, negated: bool) -> str:
    return f"(NOT {sql})" if negated else sql


def _constant(value: bool) -> str:
    return "true" if value else "false"
