"""Filter expressions of search, profile and lists: shape, limits and semantics.

`matches` is the reference implementation; every engine that evaluates filters is tested against it.
neq, notContains and arrayNotContains match items that lack the key; eq never matches an array; numbers,
booleans and strings never equal each other.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr
from pydantic.alias_generators import to_camel
from pydantic.json_schema import SkipJsonSchema

from schemas.base import MetadataValue
from schemas.limits import FILTER_FIELD_PATTERN, MAX_FILTER_DEPTH, MAX_FILTER_OPERANDS

FieldName = Annotated[str, Field(min_length=1, pattern=FILTER_FIELD_PATTERN)]
Number = StrictInt | StrictFloat


class _FilterNode(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel, validate_by_name=True)


class StringEquality(_FilterNode):
    """eq or neq on a string."""

    field: FieldName
    operator: Literal["eq", "neq"]
    value: StrictStr
    case_sensitive: StrictBool = True


class ScalarEquality(_FilterNode):
    """eq or neq on a number or a boolean."""

    field: FieldName
    operator: Literal["eq", "neq"]
    value: Number | StrictBool


class NumericComparison(_FilterNode):
    """gt, gte, lt or lte on a number."""

    field: FieldName
    operator: Literal["gt", "gte", "lt", "lte"]
    value: Number


class SubstringMatch(_FilterNode):
    """A substring of a string."""

    field: FieldName
    operator: Literal["contains", "notContains"]
    value: StrictStr
    case_sensitive: StrictBool = True


class PrefixMatch(_FilterNode):
    """The beginning of a string: a folder of v3's file paths. v5 has no such operator, so no v5 body can name it."""

    field: FieldName
    operator: Literal["startsWith"] = "startsWith"
    value: StrictStr


class ArrayMembership(_FilterNode):
    """An element of an array."""

    field: FieldName
    operator: Literal["arrayContains", "arrayNotContains"]
    value: StrictStr


class Conjunction(_FilterNode):
    """All operands hold."""

    operator: Literal["and"]
    operands: Annotated[list["FilterExpression"], Field(min_length=1, max_length=MAX_FILTER_OPERANDS)]


class Disjunction(_FilterNode):
    """Any operand holds."""

    operator: Literal["or"]
    operands: Annotated[list["FilterExpression"], Field(min_length=1, max_length=MAX_FILTER_OPERANDS)]


FilterPredicate = (
    StringEquality | ScalarEquality | NumericComparison | SubstringMatch | ArrayMembership | SkipJsonSchema[PrefixMatch]
)
FilterExpression = FilterPredicate | Conjunction | Disjunction
Conjunction.model_rebuild()
Disjunction.model_rebuild()


def exceeds_depth(expression: Any, limit: int = MAX_FILTER_DEPTH) -> bool:
    """Return whether a raw, unvalidated expression nests groups deeper than `limit`, without recursion."""
    level = [expression]
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
    """Return whether an item with this metadata matches."""
    match expression:
        case Conjunction():
            return all(matches(operand, metadata) for operand in expression.operands)
        case Disjunction():
            return any(matches(operand, metadata) for operand in expression.operands)
    negated = expression.operator in {"neq", "notContains", "arrayNotContains"}
    return _evaluate(expression, metadata.get(expression.field)) != negated


def _evaluate(predicate: FilterPredicate, value: MetadataValue | None) -> bool:
    match predicate, value:
        case (StringEquality(), str()):
            return _normalize_case(value, predicate) == _normalize_case(predicate.value, predicate)
        case (ScalarEquality(), bool()):
            return isinstance(predicate.value, bool) and value == predicate.value
        case (ScalarEquality(), int() | float()):
            return not isinstance(predicate.value, bool) and value == predicate.value
        case (NumericComparison(), int() | float()) if not isinstance(value, bool):
            return _compare(predicate, value)
        case (SubstringMatch(), str()):
            return _normalize_case(predicate.value, predicate) in _normalize_case(value, predicate)
        case (PrefixMatch(), str()):
            return value.startswith(predicate.value)
        case (ArrayMembership(), list()):
            return predicate.value in value
    return False


def _normalize_case(text: str, predicate: StringEquality | SubstringMatch) -> str:
    return text if predicate.case_sensitive else text.lower()


def _compare(predicate: NumericComparison, value: float) -> bool:
    match predicate.operator:
        case "gt":
            return value > predicate.value
        case "gte":
            return value >= predicate.value
        case "lt":
            return value < predicate.value
        case "lte":
            return value <= predicate.value
