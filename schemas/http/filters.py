"""The filter of a request body: bounded, dispatched by operator, and precise about what is wrong with it."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import PlainValidator, ValidationError
from pydantic_core import PydanticCustomError

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
    too_deep,
)
from schemas.limits import FILTER_DEPTH, FILTER_OPERANDS

_COMPARE = frozenset({"gt", "gte", "lt", "lte"})
_CONTAINS = frozenset({"contains", "notContains"})
_ARRAY = frozenset({"arrayContains", "arrayNotContains"})
_OPERATORS = ("eq", "neq", *sorted(_COMPARE), *sorted(_CONTAINS), *sorted(_ARRAY), "and", "or")

_VALUES: Mapping[type[FilterPredicate], str] = {
    StringEquals: "must be a string, a number or a boolean",
    ValueEquals: "must be a string, a number or a boolean",
    Compare: "must be a number",
    Contains: "must be a string",
    ArrayContains: "must be a string",
}


def parse(raw: object) -> FilterExpression:
    """The expression, or a PydanticCustomError that names the place; its context has it as a `path` too."""
    if too_deep(raw):
        raise _wrong((), f"nests groups more than {FILTER_DEPTH} levels deep")
    return _expression(raw, ())


def _expression(raw: object, path: tuple[str | int, ...]) -> FilterExpression:
    if not isinstance(raw, dict):
        raise _wrong(path, "must be an object with an operator")
    operator = raw.get("operator")
    if isinstance(operator, str) and operator in {"and", "or"}:
        return _group(raw, operator, path)
    return _predicate({key: value for key, value in raw.items() if value is not None}, path)


def _group(raw: dict[str, Any], operator: str, path: tuple[str | int, ...]) -> And | Or:
    operands = raw.get("operands")
    if unknown := raw.keys() - {"operator", "operands"}:
        raise _wrong(path, f"has unknown fields: {', '.join(sorted(map(ascii, unknown)))[:200]}")
    if not isinstance(operands, list) or not 1 <= len(operands) <= FILTER_OPERANDS:
        raise _wrong((*path, "operands"), f"must be a list of 1 to {FILTER_OPERANDS} expressions")
    parsed = [_expression(operand, (*path, "operands", at)) for at, operand in enumerate(operands)]
    if operator == "and":
        return And.model_construct(operator="and", operands=parsed)
    return Or.model_construct(operator="or", operands=parsed)


def _predicate(raw: dict[str, Any], path: tuple[str | int, ...]) -> FilterPredicate:
    kind = _kind(raw, path)
    try:
        return kind.model_validate(raw)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        field = str(first["loc"][0])
        raise _wrong((*path, field), _said(kind, field, first["type"], first["msg"])) from None


def _said(kind: type[FilterPredicate], field: str, problem: str, message: str) -> str:
    if problem == "missing":
        return "is required"
    if problem == "extra_forbidden":
        return "is not a field of this operator and value"
    return _VALUES[kind] if field == "value" else message


def _kind(raw: dict[str, Any], path: tuple[str | int, ...]) -> type[FilterPredicate]:
    operator = raw.get("operator")
    if not isinstance(operator, str):
        raise _wrong((*path, "operator"), f"must be one of {', '.join(_OPERATORS)}")
    if operator in {"eq", "neq"}:
        return StringEquals if isinstance(raw.get("value"), str) else ValueEquals
    if operator in _COMPARE:
        return Compare
    if operator in _CONTAINS:
        return Contains
    if operator in _ARRAY:
        return ArrayContains
    raise _wrong((*path, "operator"), f"must be one of {', '.join(_OPERATORS)}")


def _wrong(path: tuple[str | int, ...], message: str) -> PydanticCustomError:
    place = f"{'.'.join(map(str, path))}: " if path else ""
    return PydanticCustomError("filter", "{problem}", {"problem": place + message, "path": path})


Filter = Annotated[FilterExpression, PlainValidator(parse, json_schema_input_type=FilterExpression)]
