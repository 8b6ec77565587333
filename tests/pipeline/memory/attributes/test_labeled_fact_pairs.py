"""Agreement of the comparison rules with pairs judged by people."""

from collections import Counter
from typing import Literal

import pytest

from bench.datasets.relations import Verdict, pairs
from pipeline.memory.attributes.attribute import is_equivalent
from pipeline.memory.attributes.attribute_extraction import comparable_attributes
from pipeline.memory.versioning.fact_comparison import find_contradiction


def _predicted_verdict(old: str, new: str) -> str:
    ours, theirs = comparable_attributes(new), comparable_attributes(old)
    if any(is_equivalent(new_attribute, old_attribute) for new_attribute in ours for old_attribute in theirs):
        return "same"
    return "updates" if find_contradiction(ours, theirs) else "neither"


@pytest.mark.parametrize("half", ["open", "locked"])
@pytest.mark.parametrize("verdict", ["updates", "same"])
def test_updates_and_duplicates_are_precise_and_mostly_found(half: Literal["open", "locked"], verdict: Verdict) -> None:
    judged = Counter((pair.verdict, _predicted_verdict(pair.old, pair.new)) for pair in pairs(half))
    right = judged[verdict, verdict]
    predicted_count = sum(count for (_, answer), count in judged.items() if answer == verdict)
    labeled_count = sum(count for (truth, _), count in judged.items() if truth == verdict)
    assert right >= 0.95 * predicted_count
    assert right >= 0.75 * labeled_count


def test_more_than_three_hundred_pairs_exist_and_half_are_locked() -> None:
    opened, locked = pairs("open"), pairs("locked")
    assert len(opened) + len(locked) > 300
    assert len(locked) > 150
    texts = Counter((pair.old, pair.new) for pair in (*opened, *locked))
    assert set(texts.values()) == {1}
