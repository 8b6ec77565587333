"""Metadata side by side: one field of all documents, factorised, and filters as masks over it.

The meaning of every predicate is `schemas.filters.matches`: a predicate is decided once per distinct value,
by numpy for numbers and by a dictionary for equality, and then handed to the documents that have the value.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from schemas.base import MetadataValue
from schemas.filters import (
    And,
    Compare,
    FilterExpression,
    FilterPredicate,
    Or,
    StringEquals,
    ValueEquals,
    matches,
)

_EXACT = 1 << 53
_BYTES_PER_VALUE = 150
_ABSENT = 0


class Field:
    """A metadata field of every document: `codes[ordinal]` is the place of its value in `values`."""

    def __init__(self, size: int) -> None:
        self._codes = np.zeros(size, np.int32)
        self._values: list[MetadataValue | None] = [None]
        self._places: dict[object, int] = {}
        self._numbers: NDArray[np.float64] | None = None
        self._inexact = False

    @property
    def nbytes(self) -> int:
        """Bytes held, roughly."""
        return self._codes.nbytes + len(self._values) * _BYTES_PER_VALUE

    @property
    def worn(self) -> bool:
        """Whether most of the values are of documents that have changed since."""
        return len(self._values) > 2 * len(self._codes) + 1024

    def put(self, ordinal: int, value: MetadataValue | None) -> None:
        """Set the value of a document; None: it lacks the field."""
        if ordinal >= len(self._codes):
            grown = np.zeros(max(ordinal + 1, len(self._codes) * 2), np.int32)
            grown[: len(self._codes)] = self._codes
            self._codes = grown
        self._codes[ordinal] = _ABSENT if value is None else self._place(value)

    def mask(self, predicate: FilterPredicate, size: int) -> NDArray[np.bool_]:
        """By ordinal: whether a document passes."""
        verdicts = self._verdicts(predicate)
        passed = np.full(size, verdicts[_ABSENT], np.bool_)
        known = min(size, len(self._codes))
        passed[:known] = verdicts[self._codes[:known]]
        return passed

    def _place(self, value: MetadataValue) -> int:
        key = _key(value)
        place = self._places.get(key)
        if place is None:
            place = self._places[key] = len(self._values)
            self._values.append(value)
            self._numbers = None
            self._inexact |= isinstance(value, int) and abs(value) > _EXACT
        return place

    def _verdicts(self, predicate: FilterPredicate) -> NDArray[np.bool_]:
        match predicate:
            case Compare() if not self._inexact and abs(predicate.value) <= _EXACT:
                return _compare(self._as_numbers(), predicate)
            case ValueEquals():
                return self._equal(predicate.value, predicate.operator == "neq")
            case StringEquals() if predicate.case_sensitive:
                return self._equal(predicate.value, predicate.operator == "neq")
        return np.array(
            [matches(predicate, {} if value is None else {predicate.field: value}) for value in self._values],
            np.bool_,
        )

    def _equal(self, value: MetadataValue, negated: bool) -> NDArray[np.bool_]:
        verdicts = np.full(len(self._values), negated, np.bool_)
        place = self._places.get(_key(value))
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


def fields_of(expression: FilterExpression) -> set[str]:
    """The names of the fields an expression asks about."""
    if isinstance(expression, And | Or):
        return set().union(*(fields_of(operand) for operand in expression.operands))
    return {expression.field}


def mask(expression: FilterExpression, fields: Mapping[str, Field], size: int) -> NDArray[np.bool_]:
    """By ordinal: whether a document passes an expression; `fields` holds every field it names."""
    if not isinstance(expression, And | Or):
        return fields[expression.field].mask(expression, size)
    passed = mask(expression.operands[0], fields, size)
    for operand in expression.operands[1:]:
        if isinstance(expression, And):
            passed &= mask(operand, fields, size)
        else:
            passed |= mask(operand, fields, size)
    return passed


def _compare(numbers: NDArray[np.float64], predicate: Compare) -> NDArray[np.bool_]:
    """What is no number is NaN, and no comparison holds for it."""
    match predicate.operator:
        case "gt":
            return numbers > predicate.value
        case "gte":
            return numbers >= predicate.value
        case "lt":
            return numbers < predicate.value
        case "lte":
            return numbers <= predicate.value


def _key(value: MetadataValue) -> object:
    """Equal exactly when `eq` holds between values of one kind; kinds never mix."""
    match value:
        case bool():
            return ("flag", value)
        case int() | float():
            return ("number", value)
        case str():
            return ("text", value)
    return ("list", tuple(value))
