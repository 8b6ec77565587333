"""The filter expression of search, profile and lists: its shape, its limits, its meaning.

`matches` is the meaning in plain Python; every engine that evaluates filters is tested against it.
neq, notContains and arrayNotContains match items that lack the key; eq never matches an array; numbers,
booleans and strings never equal each other.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr
from pydantic.alias_generators import to_camel

from schemas.base import MetadataValue
from schemas.limits import FILTER_DEPTH, FILTER_FIELD_PATTERN, FILTER_OPERANDS

FieldName = Annotated[str, Field(min_length=1, pattern=FILTER_FIELD_PATTERN)]
Number = StrictInt | StrictFloat


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel, validate_by_name=True)


class StringEquals(_Part):
    """eq or neq on a string."""

    field: FieldName
    operator: Literal["eq", "neq"]
    value: StrictStr
    case_sensitive: StrictBool = True


class ValueEquals(_Part):
    """eq or neq on a number or a boolean."""

    field: FieldName
    operator: Literal["eq", "neq"]
    value: Number | StrictBool


class Compare(_Part):
    """gt, gte, lt or lte on a number."""

    field: FieldName
    operator: Literal["gt", "gte", "lt", "lte"]
    value: Number


class Contains(_Part):
    """A substring of a string."""

    field: FieldName
    operator: Literal["contains", "notContains"]
    value: StrictStr
    case_sensitive: StrictBool = True


class ArrayContains(_Part):
    """An element of an array."""

    field: FieldName
    operator: Literal["arrayContains", "arrayNotContains"]
    value: StrictStr


class And(_Part):
    """All operands hold."""

    operator: Literal["and"]
    operands: Annotated[list["FilterExpression"], Field(min_length=1, max_length=FILTER_OPERANDS)]


class Or(_Part):
    """Any operand holds."""

    operator: Literal["or"]
    operands: Annotated[list["FilterExpression"], Field(min_length=1, max_length=FILTER_OPERANDS)]


FilterPredicate = StringEquals | ValueEquals | Compare | Contains | ArrayContains
FilterExpression = FilterPredicate | And | Or
And.model_rebuild()
Or.model_rebuild()


def too_deep(raw: Any, limit: int = FILTER_DEPTH) -> bool:
    """Whether a raw (not yet validated) expression nests groups deeper than `limit`; no recursion."""
    level = [raw]
    for _ in range(limit + 1):
        level = [
            operand
            for part in level
            if isinstance(part, dict) and isinstance(part.get("operands"), list)
            for operand in part["operands"]
        ]
        if not level:
            return False
    return True


def matches(expression: FilterExpression, metadata: Mapping[str, MetadataValue]) -> bool:
    """Whether an item with this metadata passes."""
    match expression:
        case And():
            return all(matches(operand, metadata) for operand in expression.operands)
        case Or():
            return any(matches(operand, metadata) for operand in expression.operands)
    negated = expression.operator in {"neq", "notContains", "arrayNotContains"}
    return _holds(expression, metadata.get(expression.field)) != negated


def _holds(predicate: FilterPredicate, value: MetadataValue | None) -> bool:
    match predicate, value:
        case (StringEquals(), str()):
            return _fold(value, predicate) == _fold(predicate.value, predicate)
        case (ValueEquals(), bool()):
            return isinstance(predicate.value, bool) and value == predicate.value
        case (ValueEquals(), int() | float()):
            return not isinstance(predicate.value, bool) and value == predicate.value
        case (Compare(), int() | float()) if not isinstance(value, bool):
            return _compare(predicate, value)
        case (Contains(), str()):
            return _fold(predicate.value, predicate) in _fold(value, predicate)
        case (ArrayContains(), list()):
            return predicate.value in value
    return False


def _fold(text: str, predicate: StringEquals | Contains) -> str:
    return text if predicate.case_sensitive else text.lower()


def _compare(predicate: Compare, value: float) -> bool:
    match predicate.operator:
        case "gt":
            return value > predicate.value
        case "gte":
            return value >= predicate.value
        case "lt":
            return value < predicate.value
        case "lte":
            return value <= predicate.value
