"""Who says what in chats, transcripts and lists."""

from pipeline.text.speaker_attribution import parse_utterances
from pipeline.text.utterance import TEAM


def test_an_item_without_a_name_belongs_to_nobody_where_others_begin_with_one() -> None:
    notes = "- Aisha: I finished the migration\n- Joe: I wait for Lena\n  - since Monday\n- Lena is our new PO\n"
    assert [(said.speaker, said.text) for said in parse_utterances(notes)] == [
        ("Aisha", "I finished the migration\n"),
        ("Joe", "I wait for Lena\n  - since Monday\n"),
        (TEAM, "Lena is our new PO\n"),
    ]


def test_items_below_one_name_are_that_persons() -> None:
    said = parse_utterances("- Joe: I moved to Kiel\n- we have a dog\n")
    assert [(part.speaker, part.text) for part in said] == [("Joe", "I moved to Kiel\n- we have a dog\n")]
