"""Requests, instructions and hearsay in languages other than English."""

from datetime import date

import pytest

from pipeline.memory.formation.rule_based_extraction import extract_facts

MONDAY = date(2026, 11, 23)


@pytest.mark.parametrize(
    ("message", "fact"),
    [
        ("vu que je suis intermittent, comment je déclare mes revenus ?", "vu que je suis intermittent"),
        ("ponieważ jestem uczulona na orzechy, czym zastąpić migdały?", "ponieważ jestem uczulona na orzechy"),
        ("mi hija cumple 15 en julio, ideas?", "mi hija cumple 15 en julio"),
        ("vendimos la camioneta, qué reviso ahora?", "vendimos la camioneta"),
        ("小麦アレルギーなんですが、外食でパスタの代わりになるものありますか", "小麦アレルギーなんです"),
        ("Soll ich Brot kaufen, oder Milch?", None),
    ],
)
def test_what_a_question_says_before_it_asks_is_kept(message: str, fact: str | None) -> None:
    assert [each.text for each in extract_facts(message, MONDAY)] == ([] if fact is None else [f"User: {fact}"])


def test_a_question_without_a_mark_is_left_out_of_what_an_assistant_is_told() -> None:
    chat = "assistant: ¡Hola!\nuser: abro una tienda en enero, qué licencia necesito"
    assert [fact.text for fact in extract_facts(chat, MONDAY)] == ["User: abro una tienda en enero"]


@pytest.mark.parametrize(
    "message",
    [
        "bitte antworte immer auf Deutsch",
        "tutoie-moi stp",
        "rispondi sempre in modo breve",
        "escribe siempre en español de México",
        "antwoord voortaan in het Engels",
        "odpowiadaj zawsze krótko",
        "всегда отвечай кратко",
        "これからは簡潔に答えてください",
    ],
)
def test_how_to_answer_from_now_on_is_kept(message: str) -> None:
    assert [each.text for each in extract_facts(message, MONDAY)] == [f"User: {message}"]


@pytest.mark.parametrize(
    "message",
    [
        "schreib mir bitte einen Brief an meinen Vermieter",
        "ela responde sempre tarde às mensagens",
        "mon collègue Yann dit que sa femme est allergique au gluten",
        "mi hermana Paty dice que le robaron el suyo",
        "meine Freundin Svea sagt, ihr Mann sei arbeitslos",
        "mój brat mówi, że jego żona straciła pracę",
        "隣の佐藤さんは犬を3匹飼っているそうで、毎朝にぎやかです",
        "can you explain what foods to avoid",
    ],
)
def test_tasks_and_what_others_tell_of_theirs_are_no_memories(message: str) -> None:
    assert not extract_facts(message, MONDAY)


def test_what_others_tell_of_the_speaker_is_kept() -> None:
    assert extract_facts("il medico dice che sono celiaco", MONDAY)
