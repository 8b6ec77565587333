"""What the rules say of pairs that people judged: right, above all where truth would be hidden."""

from collections import Counter
from typing import Literal

import pytest

from pipeline.memory.relations import replaced
from pipeline.memory.slots.reading import slots
from pipeline.memory.slots.slot import repeats
from tests.data.relations import Verdict, pairs


def _judged(old: str, new: str) -> str:
    ours, theirs = slots(new), slots(old)
    if any(repeats(one, other) for one in ours for other in theirs):
        return "same"
    return "updates" if replaced(ours, theirs) else "neither"


@pytest.mark.parametrize("half", ["open", "locked"])
@pytest.mark.parametrize("verdict", ["updates", "same"])
def test_what_hides_or_joins_memories_is_nearly_always_right_and_mostly_found(
    half: Literal["open", "locked"], verdict: Verdict
) -> None:
    judged = Counter((pair.verdict, _judged(pair.old, pair.new)) for pair in pairs(half))
    right = judged[verdict, verdict]
    said = sum(count for (_, answer), count in judged.items() if answer == verdict)
    wanted = sum(count for (truth, _), count in judged.items() if truth == verdict)
    assert right >= 0.95 * said
    assert right >= 0.75 * wanted


def test_there_are_more_than_three_hundred_pairs_half_of_them_locked() -> None:
    opened, locked = pairs("open"), pairs("locked")
    assert len(opened) + len(locked) > 300
    assert len(locked) > 150
    texts = Counter((pair.old, pair.new) for pair in (*opened, *locked))
    assert set(texts.values()) == {1}
