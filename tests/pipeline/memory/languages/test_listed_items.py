import pytest

from pipeline.memory.formation.rule_based_extraction import extract_facts
from pipeline.memory.languages.listed_items import is_list, listed_items


def memories(text: str) -> list[str]:
    return [fact.text for fact in extract_facts(text)]


def test_each_item_of_a_note_is_kept_as_it_is_written_below_its_title() -> None:
    note = "HOUSE\nwifi pw: tangerine-Otter-9\nalarm 5512 (dont tell Ben)\nbins - tues, recycling alt weeks\n"
    assert memories(note) == [
        "User: HOUSE, wifi pw: tangerine-Otter-9",
        "User: HOUSE, alarm 5512 (dont tell Ben)",
        "User: HOUSE, bins - tues, recycling alt weeks",
    ]


def test_an_item_that_is_a_sentence_is_read_as_one() -> None:
    assert memories("NOTES\n- no lifting til jan\n- physio Weds 10am (Craig)\n- sold the van for £3200") == [
        "User: no lifting til jan",
        "User: physio Weds 10am (Craig)",
        "User sold the van for £3200",
    ]


def test_fields_of_its_writer_are_theirs() -> None:
    assert memories("me\nAge: 34\nAllergies: latex\nKids: Ida (7), Tom (4)") == [
        "User is 34 years old",
        "User is allergic to latex",
        "User's kids are Ida (7), Tom (4)",
    ]


@pytest.mark.parametrize(
    ("note", "memory"),
    [
        ("Infos nounou\n- Jules : pas de lait\n- sieste 9h30\n- code 48B12", "User: Infos nounou, Jules : pas de lait"),
        ("Notlar\n- ev sahibi: Nermin\n- araba muayenesi 14 ocak\n- servis 07:20", "User: araba muayenesi 14 ocak"),
        ("メモ\n・Wi-Fi: sakura-8821\n・管理人さん: 田辺さん\n・お迎え 18時まで", "User: Wi-Fi: sakura-8821"),
    ],
)
def test_items_are_kept_in_any_language(note: str, memory: str) -> None:
    assert memory in memories(note)


def test_an_item_without_a_label_has_its_title_where_nothing_is_resolved() -> None:
    note = "Meds Oma\nmorgens: Ramipril 5\nPflegegrad 3 seit Aug\nKEIN Ibuprofen!\nPflegedienst kommt 7:30"
    assert memories(note) == [
        "User: Meds Oma, morgens: Ramipril 5",
        "User: Meds Oma, Pflegegrad 3 seit Aug",
        "User: Meds Oma, KEIN Ibuprofen",
        "User: Meds Oma, Pflegedienst kommt 7:30",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Pancakes\n- 200 g flour\n- 2 eggs\n- 300 ml milk\n- a pinch of salt",
        "Shopping\nmilk\neggs\n2 onions\nbutter",
        'name: web\nimage: nginx:1.25\nports: ["80:80"]\nrestart: always',
    ],
)
def test_ingredients_and_configurations_make_no_memories(text: str) -> None:
    assert memories(text) == []


def test_items_of_minutes_are_kept_without_a_speaker_and_without_who_is_present() -> None:
    minutes = "Protokoll WEG-Versammlung 12.11.\nAnwesend: Ziegler, Marek\nTOP 1: Hausgeld steigt ab 1.1. auf 310 €\n"
    assert memories(f"{minutes}TOP 2: Fahrradkeller wird neu verschlossen, Schlüssel bei Fam. Osei") == [
        "Hausgeld steigt ab 1.1. auf 310 €",
        "Fahrradkeller wird neu verschlossen, Schlüssel bei Fam. Osei",
    ]


def test_chats_and_sentences_are_no_lists() -> None:
    assert not is_list("priya 10:14 heads up\ndmitri 10:16 ok\nhana 10:21 ack\npriya 10:22 v1 is gone")
    assert not is_list("I moved to Rome last week.\nMy sister is in Oslo.\nWe meet in June.")
    assert not is_list("Where to go?\nWhat to eat?\nWhen to leave?")


def test_an_item_knows_its_span() -> None:
    text = "Trip\n- flight TP1865, 07:10\n\n* hotel: Casa do Lago"
    assert [text[item.start : item.end] for item in listed_items(text)] == [
        "flight TP1865, 07:10",
        "hotel: Casa do Lago",
    ]
