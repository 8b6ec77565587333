"""Filter of a request body: bounded, dispatched by operator, with precise errors."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import PlainValidator, ValidationError
from pydantic_core import PydanticCustomError

from schemas import filters
from schemas.limits import MAX_FILTER_DEPTH, MAX_FILTER_OPERANDS

_COMPARISON_OPERATORS = frozenset({"gt", "gte", "lt", "lte"})
_SUBSTRING_OPERATORS = frozenset({"contains", "notContains"})
_ARRAY_OPERATORS = frozenset({"arrayContains", "arrayNotContains"})
_OPERATORS = (
    "eq",
    "neq",
    *sorted(_COMPARISON_OPERATORS),
    *sorted(_SUBSTRING_OPERATORS),
    *sorted(_ARRAY_OPERATORS),
    "and",
    "or",
)

_VALUE_ERRORS: Mapping[type[filters.FilterPredicate], str] = {
    filters.StringEquality: "must be a string, a number or a boolean",
    filters.ScalarEquality: "must be a string, a number or a boolean",
    filters.NumericComparison: "must be a number",
    filters.SubstringMatch: "must be a string",
    filters.ArrayMembership: "must be a string",
}


def parse_filter(raw: object) -> filters.FilterExpression:
    """Parse a filter; PydanticCustomError names the position, also as `path` in its context."""
    if filters.exceeds_depth(raw):
        raise _filter_error((), f"nests groups more than {MAX_FILTER_DEPTH} levels deep")
    return _parse_expression(raw, ())


def _parse_expression(raw: object, path: tuple[str | int, ...]) -> filters.FilterExpression:
    if not isinstance(raw, dict):
        raise _filter_error(path, "must be an object with an operator")
    operator = raw.get("operator")
    if isinstance(operator, str) and operator in {"and", "or"}:
        return _parse_group(raw, operator, path)
    return _parse_predicate({key: value for key, value in raw.items() if value is not None}, path)


def _parse_group(
    raw: dict[str, Any], operator: str, path: tuple[str | int, ...]
) -> filters.Conjunction | filters.Disjunction:
    operands = raw.get("operands")
    if unknown := raw.keys() - {"operator", "operands"}:
        raise _filter_error(path, f"has unknown fields: {', '.join(sorted(map(ascii, unknown)))[:200]}")
    if not isinstance(operands, list) or not 1 <= len(operands) <= MAX_FILTER_OPERANDS:
        raise _filter_error((*path, "operands"), f"must be a list of 1 to {MAX_FILTER_OPERANDS} expressions")
    parsed = [_parse_expression(operand, (*path, "operands", at)) for at, operand in enumerate(operands)]
    if operator == "and":
        return filters.Conjunction.model_construct(operator="and", operands=parsed)
    return filters.Disjunction.model_construct(operator="or", operands=parsed)


def _parse_predicate(raw: dict[str, Any], path: tuple[str | int, ...]) -> filters.FilterPredicate:
    kind = _predicate_type(raw, path)
    try:
        return kind.model_validate(raw)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        field = str(first["loc"][0])
        raise _filter_error((*path, field), _describe_field_error(kind, field, first["type"], first["msg"])) from None


def _describe_field_error(kind: type[filters.FilterPredicate], field: str, problem: str, message: str) -> str:
    if problem == "missing":
        return "is required"
    if problem == "extra_forbidden":
        return "is not a field of this operator and value"
    if problem == "string_pattern_mismatch":
        return "may have letters, digits, '_', '.' and '-' only"
    return _VALUE_ERRORS[kind] if field == "value" else message


def _predicate_type(raw: dict[str, Any], path: tuple[str | int, ...]) -> type[filters.FilterPredicate]:
    operator = raw.get("operator")
    if not isinstance(operator, str):
        raise _filter_error((*path, "operator"), f"must be one of {', '.join(_OPERATORS)}")
    if operator in {"eq", "neq"}:
        return filters.StringEquality if isinstance(raw.get("value"), str) else filters.ScalarEquality
    if operator in _COMPARISON_OPERATORS:
        return filters.NumericComparison
    if operator in _SUBSTRING_OPERATORS:
        return filters.SubstringMatch
    if operator in _ARRAY_OPERATORS:
        return filters.ArrayMembership
    raise _filter_error((*path, "operator"), f"must be one of {', '.join(_OPERATORS)}")


def _filter_error(path: tuple[str | int, ...], message: str) -> PydanticCustomError:
    place = f"{'.'.join(map(str, path))}: " if path else ""
    return PydanticCustomError("filter", "{problem}", {"problem": place + message, "path": path})


Filter = Annotated[
    filters.FilterExpression, PlainValidator(parse_filter, json_schema_input_type=filters.FilterExpression)
]
