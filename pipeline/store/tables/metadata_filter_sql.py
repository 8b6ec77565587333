"""Metadata filters as SQL over `filter_tokens` and `filter_values` (see `metadata_index_terms`).

Every predicate is made true or false, never null, before it is negated. Literals are quoted in one place.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.store.lancedb.row_codec import sql_literal
from pipeline.store.tables.metadata_index_terms import filter_token, sortable_number
from schemas.filters import (
    ArrayMembership,
    Conjunction,
    Disjunction,
    FilterExpression,
    FilterPredicate,
    NumericComparison,
    PrefixMatch,
    ScalarEquality,
    StringEquality,
    SubstringMatch,
)

_SQL_OPERATORS = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
_NEGATED_OPERATORS = frozenset({"neq", "notContains", "arrayNotContains"})


@dataclass(frozen=True, slots=True)
class _TokenTest:
    """Test that an item has a token or (negated) lacks it; several become one condition on the list."""

    token: str
    negated: bool


def filter_to_sql(expression: FilterExpression) -> str:
    """Translate a filter to the condition that an item matches it."""
    match expression:
        case Conjunction():
            return _combine(expression.operands, "AND")
        case Disjunction():
            return _combine(expression.operands, "OR")
    condition = _predicate_to_sql(expression)
    return _has_any_token([condition.token], condition.negated) if isinstance(condition, _TokenTest) else condition


def _combine(operands: Sequence[FilterExpression], connective: str) -> str:
    parts = [part if isinstance(part, Conjunction | Disjunction) else _predicate_to_sql(part) for part in operands]
    # "any of these tokens" for OR, and "none of these tokens" for AND, are one condition each.
    bulk = connective == "AND"
    together = [part.token for part in parts if isinstance(part, _TokenTest) and part.negated == bulk]
    single = [
        _has_any_token([part.token], part.negated)
        for part in parts
        if isinstance(part, _TokenTest) and part.negated != bulk
    ]
    written = [part for part in parts if isinstance(part, str)]
    nested = [filter_to_sql(part) for part in parts if isinstance(part, Conjunction | Disjunction)]
    joined = [_has_any_token(together, bulk)] if together else []
    return "(" + f" {connective} ".join([*joined, *single, *written, *nested]) + ")"


def _predicate_to_sql(predicate: FilterPredicate) -> _TokenTest | str:
    negated = predicate.operator in _NEGATED_OPERATORS
    match predicate:
        case StringEquality(case_sensitive=True):
            return _TokenTest(filter_token(predicate.field, "s", predicate.value), negated)
        case StringEquality():
            return _TokenTest(filter_token(predicate.field, "i", predicate.value.lower()), negated)
        case ScalarEquality(value=bool()):
            return _TokenTest(filter_token(predicate.field, "b", str(predicate.value)), negated)
        case ScalarEquality():
            number = sortable_number(predicate.value)
            return _TokenTest(filter_token(predicate.field, "n", number), negated) if number else _sql_boolean(negated)
        case ArrayMembership():
            return _TokenTest(filter_token(predicate.field, "a", predicate.value), negated)
        case NumericComparison():
            return _comparison_to_sql(predicate)
        case SubstringMatch():
            return _negate_if(_substring_to_sql(predicate), negated)
        case PrefixMatch():
            text = _filter_value("s", predicate.field)
            return f"coalesce(starts_with({text},{sql_literal(predicate.value)}),false)"


def _has_any_token(tokens: Sequence[str], negated: bool) -> str:
    literals = ",".join(map(sql_literal, dict.fromkeys(tokens)))
    return _negate_if(f"coalesce(array_has_any(filter_tokens,[{literals}]),false)", negated)


def _comparison_to_sql(predicate: NumericComparison) -> str:
    number = sortable_number(predicate.value)
    if not number:
        return _sql_boolean(False)
    comparison = f"{_SQL_OPERATORS[predicate.operator]}{sql_literal(number)}"
    return f"coalesce({_filter_value('n', predicate.field)}{comparison},false)"


def _substring_to_sql(predicate: SubstringMatch) -> str:
    text = _filter_value("s", predicate.field)
    if predicate.case_sensitive:
        return f"coalesce(contains({text},{sql_literal(predicate.value)}),false)"
    lower = f"coalesce({_filter_value('i', predicate.field)},{text})"
    return f"coalesce(contains({lower},{sql_literal(predicate.value.lower())}),false)"


def _filter_value(kind: str, field: str) -> str:
    return f"json_get_string(filter_values,{sql_literal(f'{kind}:{field}')})"


def _negate_if(sql: str, negated: bool) -> str:
    return f"(NOT {sql})" if negated else sql


def _sql_boolean(value: bool) -> str:
    return "true" if value else "false"
