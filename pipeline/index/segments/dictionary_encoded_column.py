"""Dictionary-encoded metadata columns, and filter expressions evaluated on them as masks.

A predicate is evaluated once per distinct value, by numpy for numbers and by dictionary lookup for equality,
and the result is mapped to documents. `schemas.filters.matches` defines the meaning of every predicate.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from schemas import filters
from schemas.base import MetadataValue

_MAX_EXACT_INT = 1 << 53
_BYTES_PER_VALUE = 150
_MISSING_CODE = 0


class DictionaryEncodedColumn:
    """Metadata field of all documents: a code per ordinal, which indexes the distinct values."""

    def __init__(self, size: int) -> None:
        self._codes = np.zeros(size, np.int32)
        self._values: list[MetadataValue | None] = [None]
        self._code_by_key: dict[object, int] = {}
        self._numbers: NDArray[np.float64] | None = None
        self._has_inexact_ints = False

    @property
    def nbytes(self) -> int:
        """Bytes held, roughly."""
        return self._codes.nbytes + len(self._values) * _BYTES_PER_VALUE

    @property
    def fragmented(self) -> bool:
        """True when most distinct values belong to documents that have changed since."""
        return len(self._values) > 2 * len(self._codes) + 1024

    def put(self, ordinal: int, value: MetadataValue | None) -> None:
        """Set the value of a document; None: the field is absent."""
        if ordinal >= len(self._codes):
            grown = np.zeros(max(ordinal + 1, len(self._codes) * 2), np.int32)
            grown[: len(self._codes)] = self._codes
            self._codes = grown
        self._codes[ordinal] = _MISSING_CODE if value is None else self._code_of(value)

    def predicate_mask(self, predicate: filters.FilterPredicate, size: int) -> NDArray[np.bool_]:
        """Mask by ordinal of the documents that pass."""
        verdicts = self._match_values(predicate)
        passed = np.full(size, verdicts[_MISSING_CODE], np.bool_)
        encoded = min(size, len(self._codes))
        passed[:encoded] = verdicts[self._codes[:encoded]]
        return passed

    def _code_of(self, value: MetadataValue) -> int:
        key = _type_tagged_key(value)
        place = self._code_by_key.get(key)
        if place is None:
            place = self._code_by_key[key] = len(self._values)
            self._values.append(value)
            self._numbers = None
            self._has_inexact_ints |= isinstance(value, int) and abs(value) > _MAX_EXACT_INT
        return place

    def _match_values(self, predicate: filters.FilterPredicate) -> NDArray[np.bool_]:
        match predicate:
            case filters.NumericComparison() if not self._has_inexact_ints and abs(predicate.value) <= _MAX_EXACT_INT:
                return _match_comparison(self._as_numbers(), predicate)
            case filters.ScalarEquality():
                return self._match_equality(predicate.value, predicate.operator == "neq")
            case filters.StringEquality() if predicate.case_sensitive:
                return self._match_equality(predicate.value, predicate.operator == "neq")
        return np.array(
            [filters.matches(predicate, {} if value is None else {predicate.field: value}) for value in self._values],
            np.bool_,
        )

    def _match_equality(self, value: MetadataValue, negated: bool) -> NDArray[np.bool_]:
        verdicts = np.full(len(self._values), negated, np.bool_)
        place = self._code_by_key.get(_type_tagged_key(value))
        if place is not None:
            verdicts[place] = not negated
        return verdicts

    def _as_numbers(self) -> NDArray[np.float64]:
        if self._numbers is None:
            self._numbers = np.array(
                [
                    value if isinstance(value, int | float) and not isinstance(value, bool) else np.nan
                    for value in self._values
                ],
                np.float64,
            )
        return self._numbers


def field_names(expression: filters.FilterExpression) -> set[str]:
    if isinstance(expression, filters.Conjunction | filters.Disjunction):
        return set().union(*(field_names(operand) for operand in expression.operands))
    return {expression.field}


def filter_mask(
    expression: filters.FilterExpression, columns: Mapping[str, DictionaryEncodedColumn], size: int
) -> NDArray[np.bool_]:
    """Mask by ordinal of the documents that pass; `columns` holds every field that the expression names."""
    if not isinstance(expression, filters.Conjunction | filters.Disjunction):
        return columns[expression.field].predicate_mask(expression, size)
    passed = filter_mask(expression.operands[0], columns, size)
    for operand in expression.operands[1:]:
        if isinstance(expression, filters.Conjunction):
            passed &= filter_mask(operand, columns, size)
        else:
            passed |= filter_mask(operand, columns, size)
    return passed


def _match_comparison(numbers: NDArray[np.float64], predicate: filters.NumericComparison) -> NDArray[np.bool_]:
    """Compare numbers; NaN stands for other values, and every comparison with it is false."""
    match predicate.operator:
        case "gt":
            return numbers > predicate.value
        case "gte":
            return numbers >= predicate.value
        case "lt":
            return numbers < predicate.value
        case "lte":
            return numbers <= predicate.value


def _type_tagged_key(value: MetadataValue) -> object:
    """Dictionary key that is equal for values of the same type that are equal; types never mix."""
    match value:
        case bool():
            return ("flag", value)
        case int() | float():
            return ("number", value)
        case str():
            return ("text", value)
    return ("list", tuple(value))
