"""Metadata filters of v3 and v4 as filter expressions of v5.

A condition compares text, so `{"key": "year", "value": "2024"}` also matches the number 2024.
"""

import json
from typing import Any

from pydantic_core import PydanticCustomError

from api.errors.http_errors import BadRequestError, NotImplementedHereError
from schemas.filters import Conjunction, FilterExpression, PrefixMatch
from schemas.http.filter_parsing import parse_filter
from schemas.limits import MAX_FILTER_DEPTH
from schemas.strict_json import parse_json

FILEPATH_FIELD = "filepath"
"""Metadata key in which a document's file path is kept."""
_COMPARISONS = {">": "gt", ">=": "gte", "<": "lt", "<=": "lte"}
_OPPOSITES = {"gt": "lte", "gte": "lt", "lt": "gte", "lte": "gt"}

Expression = dict[str, Any]


def parse_filters(raw: object, filepath: str | None = None) -> FilterExpression | None:
    """Return the v5 filter of `filters` and `filepath`; None if neither is given.

    `filepath` that ends in `/` selects what lies in that folder. BadRequestError names what is wrong.
    """
    is_folder = filepath is not None and filepath.endswith("/")
    parts = [_expression(_decoded(raw), 0)] if raw else []
    if filepath and not is_folder:
        parts.append({"field": FILEPATH_FIELD, "operator": "eq", "value": filepath})
    try:
        parsed = parse_filter(_joined("and", parts)) if parts else None
    except PydanticCustomError as error:
        raise _filter_error(error.message()) from error
    if filepath is None or not is_folder:
        return parsed
    folder = PrefixMatch(field=FILEPATH_FIELD, value=filepath)
    return Conjunction(operator="and", operands=[parsed, folder]) if parsed else folder


def _decoded(raw: object) -> object:
    """Parse filters that were sent as JSON in a string, as older clients do."""
    if not isinstance(raw, str):
        return raw
    try:
        return parse_json(raw.encode())
    except ValueError as error:
        raise _filter_error(f"it is a string that can't be read: {error}") from None


def _expression(raw: object, depth: int) -> Expression:
    if not isinstance(raw, dict) or depth > MAX_FILTER_DEPTH:
        raise _filter_error(f"it must be objects with AND, OR or key and value, nested at most {MAX_FILTER_DEPTH} deep")
    parts = [
        _joined(operator, [_expression(part, depth + 1) for part in _operands(raw[name], name)])
        for name, operator in (("AND", "and"), ("OR", "or"))
        if name in raw
    ]
    return _joined("and", [*parts, _condition(raw)] if "key" in raw or not parts else parts)


def _operands(raw: object, name: str) -> list[object]:
    if not isinstance(raw, list) or not raw:
        raise _filter_error(f"{name} must be a list of conditions")
    return raw


def _joined(operator: str, operands: list[Expression]) -> Expression:
    return operands[0] if len(operands) == 1 else {"operator": operator, "operands": operands}


def _condition(raw: dict[str, Any]) -> Expression:
    key, value = raw.get("key"), raw.get("value")
    if not isinstance(key, str) or not isinstance(value, str | int | float):
        raise _filter_error("a condition needs a key and a value")
    text = json.dumps(value) if isinstance(value, bool | int | float) else value
    negated, ignore_case = _flag(raw.get("negate")), _flag(raw.get("ignoreCase"))
    match raw.get("filterType", "metadata"):
        case "metadata":
            return _equality(key, text, negated=negated, ignore_case=ignore_case)
        case "numeric":
            return _comparison(key, text, str(raw.get("numericOperator", "=")), negated=negated)
        case "array_contains":
            if ignore_case:
                raise NotImplementedHereError(
                    "Elements of lists are compared with their case here", "Leave ignoreCase out beside array_contains."
                )
            return {"field": key, "operator": "arrayNotContains" if negated else "arrayContains", "value": text}
        case "string_contains":
            operator = "notContains" if negated else "contains"
            return {"field": key, "operator": operator, "value": text, "caseSensitive": not ignore_case}
        case other:
            raise _filter_error(f"{str(other)[:40]!r} is not a filterType")


def _equality(key: str, text: str, *, negated: bool, ignore_case: bool) -> Expression:
    operator = "neq" if negated else "eq"
    conditions: list[Expression] = [
        {"field": key, "operator": operator, "value": text, "caseSensitive": not ignore_case}
    ]
    conditions += [{"field": key, "operator": operator, "value": scalar} for scalar in _scalars(text)]
    return _joined("and" if negated else "or", conditions)


def _scalars(text: str) -> list[float | bool]:
    """Return the number or boolean that a text spells."""
    if text in {"true", "false"}:
        return [text == "true"]
    try:
        number = float(text)
    except ValueError:
        return []
    return [number] if abs(number) < float("inf") else []


def _comparison(key: str, text: str, operator: str, *, negated: bool) -> Expression:
    numbers = _scalars(text)
    if not numbers or isinstance(numbers[0], bool):
        raise _filter_error(f"{key[:40]!r} is compared with {text[:40]!r}, which is not a number")
    if operator == "=":
        return {"field": key, "operator": "neq" if negated else "eq", "value": numbers[0]}
    comparison = _COMPARISONS.get(operator)
    if comparison is None:
        raise _filter_error(f"{operator[:10]!r} is not a numericOperator")
    return {"field": key, "operator": _OPPOSITES[comparison] if negated else comparison, "value": numbers[0]}


def _flag(value: object) -> bool:
    return value is True or value == "true"


def _filter_error(problem: str) -> BadRequestError:
    return BadRequestError("The filter can't be read", f"filters: {problem}.")
