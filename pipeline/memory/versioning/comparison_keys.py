"""Index keys of facts, so that a new fact is compared only with the few it may contradict or repeat. Pure.

A single-valued attribute is compared with every fact of that attribute. A multi-valued one (likes, has,
plays) can only be denied or repeated by a fact with the same value, so a thousand likes cost as much as
one.
"""

from collections.abc import Iterable, Iterator, Sequence

from pipeline.memory.attributes.attribute import NEGATION_PREFIX, Attribute, naming_phrases
from pipeline.memory.attributes.hypernyms import hypernym

_ANY_VALUE = "any"
"""Key suffix of every fact of an attribute."""
_EXCLUSIVE = "exclusive"
"""Key suffix of facts that exclude any other value."""
_VALUE = "value "
"""Prefix of the value that a fact affirms or denies."""
_PHRASE = "phrase "
"""Prefix of each phrase that names the value."""
_STATED = "stated"
"""Key suffix of statements about something."""
_CHANGE = "change"
"""Key suffix of those that tell of a change."""
_ENDED_VALUE = "ended "
"""Prefix of a value that a fact says has ended."""


def index_keys(attributes: Iterable[Attribute]) -> list[str]:
    """Return the keys under which a fact with these attributes is indexed."""
    return list(dict.fromkeys(key for attribute in attributes for key in _index_keys_of(attribute)))


def lookup_keys(attributes: Iterable[Attribute]) -> list[str]:
    """Return keys that cover every fact able to contradict or repeat a fact with these attributes."""
    return list(dict.fromkeys(key for attribute in attributes for key in _lookup_keys_of(attribute)))


def conflict_key(memory_id: str) -> str:
    """Return the key of facts stated to be incompatible with this memory."""
    return f"names {memory_id}"


def premise_key(memory_id: str) -> str:
    """Return the key of conclusions drawn from this memory."""
    return f"needs {memory_id}"


def all_keys(
    attributes: Sequence[Attribute], conflicting_ids: Iterable[str], premise_ids: Iterable[str]
) -> tuple[str, ...]:
    """Return all keys of a memory: its attributes, conflicting memories and premises."""
    return tuple(
        dict.fromkeys((*index_keys(attributes), *map(conflict_key, conflicting_ids), *map(premise_key, premise_ids)))
    )


def _index_keys_of(attribute: Attribute) -> Iterator[str]:
    if attribute.value_kind == "statement":
        yield _key(attribute, _STATED)
        if attribute.is_explicit_change:
            yield _key(attribute, _CHANGE)
        return
    yield _key(attribute, _ANY_VALUE)
    if _is_exclusive(attribute):
        yield _key(attribute, _EXCLUSIVE)
        return
    bare = attribute.value.removeprefix(NEGATION_PREFIX)
    yield _key(attribute, _VALUE + bare)
    for phrase in _naming_phrases(attribute, bare):
        yield _key(attribute, _PHRASE + phrase)
    for phrase in _ended_phrases(attribute):
        yield _key(attribute, _ENDED_VALUE + phrase)


def _lookup_keys_of(attribute: Attribute) -> Iterator[str]:
    if attribute.value_kind == "statement":
        # What tells of a change may replace whatever is said; anything may be replaced by what tells of a change.
        yield _key(attribute, _STATED if attribute.is_explicit_change else _CHANGE)
        return
    if _is_exclusive(attribute):
        yield _key(attribute, _ANY_VALUE)
        return
    bare = attribute.value.removeprefix(NEGATION_PREFIX)
    yield _key(attribute, _EXCLUSIVE)
    yield _key(attribute, _VALUE + bare)
    for phrase in _naming_phrases(attribute, bare):
        yield _key(attribute, _ENDED_VALUE + phrase)
    for phrase in _ended_phrases(attribute):
        yield _key(attribute, _PHRASE + phrase)


def _naming_phrases(attribute: Attribute, affirmed_value: str) -> Iterator[str]:
    yield from naming_phrases(affirmed_value)
    yield hypernym(attribute.name, affirmed_value)


def _ended_phrases(attribute: Attribute) -> Iterator[str]:
    """Yield the value that the fact ends, and its hypernym if the fact denies the whole kind."""
    if attribute.replaced_value is not None:
        yield attribute.replaced_value
        if attribute.denies_whole_kind:
            yield hypernym(attribute.name, attribute.replaced_value)


def _is_exclusive(attribute: Attribute) -> bool:
    return attribute.is_single_valued or attribute.is_explicit_change


def _key(attribute: Attribute, suffix: str) -> str:
    return f"attribute {attribute.subject}\x1f{attribute.name}\x1f{suffix}"
