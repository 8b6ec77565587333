"""What memories are found by when others are compared with them: pure.

A slot of one value is compared with all of its attribute. Of many values (what somebody likes, has, plays)
only the same one can deny or repeat another: a thousand likes cost what one does.
"""

from collections.abc import Iterable, Iterator, Sequence

from pipeline.memory.slots.kinds import kind
from pipeline.memory.slots.slot import NOT, Slot, naming

_ANY = "any"
"""In the key of every fact of an attribute."""
_ALONE = "alone"
"""Of those that exclude any other value."""
_VALUE = "value "
"""Before what a fact says or denies."""
_NAMED = "named "
"""Before each phrase that names it."""
_GONE = "gone "
"""Before what it says is no longer so."""


def held(slots: Iterable[Slot]) -> list[str]:
    """The keys of a fact with these slots."""
    return list(dict.fromkeys(key for slot in slots for key in _held(slot)))


def sought(slots: Iterable[Slot]) -> list[str]:
    """Keys of which every fact has one that can contradict or repeat a fact with these slots."""
    return list(dict.fromkeys(key for slot in slots for key in _sought(slot)))


def names(memory: str) -> str:
    """Of facts whose documents state that they can't be true beside this memory."""
    return f"names {memory}"


def needs(memory: str) -> str:
    """Of what was concluded from this memory."""
    return f"needs {memory}"


def of(slots: Sequence[Slot], named: Iterable[str], needed: Iterable[str]) -> tuple[str, ...]:
    """All keys of a memory: of its slots, of the memories it names, and of those it was concluded from."""
    return tuple(dict.fromkeys((*held(slots), *map(names, named), *map(needs, needed))))


def _held(slot: Slot) -> Iterator[str]:
    yield _key(slot, _ANY)
    if _is_alone(slot):
        yield _key(slot, _ALONE)
        return
    bare = slot.value.removeprefix(NOT)
    yield _key(slot, _VALUE + bare)
    for phrase in _naming(slot, bare):
        yield _key(slot, _NAMED + phrase)
    for phrase in _gone(slot):
        yield _key(slot, _GONE + phrase)


def _sought(slot: Slot) -> Iterator[str]:
    if _is_alone(slot):
        yield _key(slot, _ANY)
        return
    bare = slot.value.removeprefix(NOT)
    yield _key(slot, _ALONE)
    yield _key(slot, _VALUE + bare)
    for phrase in _naming(slot, bare):
        yield _key(slot, _GONE + phrase)
    for phrase in _gone(slot):
        yield _key(slot, _NAMED + phrase)


def _naming(slot: Slot, bare: str) -> Iterator[str]:
    yield from naming(bare)
    yield kind(slot.attribute, bare)


def _gone(slot: Slot) -> Iterator[str]:
    """What the fact says is no longer so, and the kind where it is all of one."""
    if slot.replaces is not None:
        yield slot.replaces
        if slot.every:
            yield kind(slot.attribute, slot.replaces)


def _is_alone(slot: Slot) -> bool:
    return slot.single or slot.marked


def _key(slot: Slot, what: str) -> str:
    return f"slot {slot.subject}\x1f{slot.attribute}\x1f{what}"
