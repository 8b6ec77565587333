"""Who says what in chats, transcripts and lists."""

from datetime import date

import pytest

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


def test_the_title_of_an_exported_chat_is_no_speaker_nor_is_a_line_within_a_message() -> None:
    chat = (
        "WhatsApp: Family\n12.03.26, 18:02 - Mum: I moved to Leeds\nNote: bring boxes\n"
        "12.03.26, 18:04 - Jules: I'm in Rome\n"
    )
    assert [(said.speaker, said.text) for said in parse_utterances(chat)] == [
        ("Mum", "I moved to Leeds\nNote: bring boxes\n"),
        ("Jules", "I'm in Rome\n"),
    ]


@pytest.mark.parametrize(
    ("first", "second", "day"),
    [
        ("05/03/26, 18:02 - ", "05/03/26, 18:04 - ", date(2026, 3, 5)),
        ("[05/03/2026, 6:02:11 pm] ", "[05/03/2026, 6:04:00 pm] ", date(2026, 3, 5)),
        ("3/5/26, 6:02\u202fPM - ", "3/5/26, 6:04\u202fPM - ", date(2026, 3, 5)),
        ("3/5/26, 18:02 - ", "3/13/26, 18:04 - ", date(2026, 3, 5)),
        ("3/5/26, 18:02 - ", "13/5/26, 18:04 - ", date(2026, 5, 3)),
        ("3/5/26, 18:02 - ", "3/5/26, 18:04 - ", None),
        ("31/02/26, 18:02 - ", "31/02/26, 18:04 - ", None),
    ],
)
def test_the_days_of_a_chat_are_read_in_one_order(first: str, second: str, day: date | None) -> None:
    assert parse_utterances(f"{first}Mum: I moved\n{second}Jules: I'm in Rome\n")[0].said_on == day


@pytest.mark.parametrize(
    "message",
    [
        '{"user": "U02", "ts": "1683540000.000200", "text": "I moved", "user_profile": {"real_name": "Ann"}}',
        '{"timestamp": "2023-05-08T10:00:00+00:00", "content": "I moved", "author": {"id": "2", "name": "Ann"}}',
        '{"from": "Ann", "date": "2023-05-08T10:00:00", "text": ["I ", {"type": "bold", "text": "moved"}]}',
        '{"name": "Ann", "role": "user", "time": 1683540000123, "content": [{"type": "text", "text": "I moved"}]}',
    ],
    ids=["Slack", "Discord", "Telegram", "parts"],
)
def test_messages_as_programs_export_them_have_a_person_and_a_day(message: str) -> None:
    (said,) = parse_utterances(f"[{message}]")
    assert (said.speaker, said.text, said.said_on) == ("Ann", "I moved", date(2023, 5, 8))


@pytest.mark.parametrize("time", ["1" + "0" * 400, "-5", "NaN", "Infinity", "true"])
def test_a_message_with_a_time_that_is_none_is_read(time: str) -> None:
    (said,) = parse_utterances(f'[{{"name": "Ann", "text": "I moved", "time": {time}}}]')
    assert (said.speaker, said.text) == ("Ann", "I moved")
