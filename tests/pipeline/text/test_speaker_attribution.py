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


def test_names_that_take_turns_are_speakers_in_any_language() -> None:
    said = parse_utterances("Mama: jak tam?\nOla: rzuciłam palenie\nMama: brawo\n")
    assert [part.speaker for part in said] == ["Mama", "Ola", "Mama"]
    assert [part.speaker for part in parse_utterances("Dom: duży\nOgród: mały\nDach: nowy\n")] == [None]


def test_the_title_of_a_journal_is_nobodys_name() -> None:
    for text in ("Diário: parei com o café.", "Trainingstagebuch: ich laufe wieder.", "Requester: I can't log in."):
        assert [part.speaker for part in parse_utterances(text)] == [None]


def test_a_name_may_be_mentioned_before_what_is_said() -> None:
    said = parse_utterances("@rahul: we use snake case\n@mei: changed\n@rahul: thanks\n")
    assert [part.speaker for part in said] == ["rahul", "mei", "rahul"]
