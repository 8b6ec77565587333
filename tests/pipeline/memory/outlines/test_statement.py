"""An outline says what its words say of a statement, by marks that have a pattern."""

from typing import get_args

import pytest

from pipeline.memory.languages.english import english_marks
from pipeline.memory.outlines.readings import outline
from pipeline.memory.outlines.statement import Mark


def test_every_pattern_of_a_mark_is_asked_for() -> None:
    only_within = {"further", "lately", "planned", "settled", "since_day"}
    assert {*english_marks("marks"), *english_marks("marks_with_days")} - only_within <= set(get_args(Mark))


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("User lives in Bruges", "home"),
        ("User moved in with Theo", "moved"),
        ("User started as a nurse", "new_job"),
        ("User's budget is 3k not 4k", "changed"),
        ("User's desk is by the window now", "now"),
        ("User wants to adopt a cat", "wish"),
        ("User is starting at Pret in January", "unreal"),
        ("User's haircut is at 10 on 21 November 2026", "one_day"),
        ("Emma is User's manager", "role"),
        ("User: wir sind umgezogen", "moved"),
        ("User: le chat du voisin est mort", "of_others"),
    ],
)
def test_words_give_a_statement_its_marks(text: str, mark: Mark) -> None:
    assert outline(text).says(mark)
    assert not outline("User has a blue bicycle").says(mark)
