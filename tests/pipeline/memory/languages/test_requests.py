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
        ("soy celiaca así que recomiéndame algo sin pan", "soy celiaca"),
        ("mam alergię na orzechy więc co mogę upiec?", "mam alergię na orzechy"),
        ("je travaille de nuit alors silence le matin svp", "je travaille de nuit"),
        ("vendimos la camioneta, qué reviso ahora?", "vendimos la camioneta"),
        ("小麦アレルギーなんですが、外食でパスタの代わりになるものありますか", "小麦アレルギーなんです"),
        ("Soll ich Brot kaufen, oder Milch?", None),
    ],
)
def test_what_a_question_says_before_it_asks_is_kept(message: str, fact: str | None) -> None:
    assert [each.text for each in extract_facts(message, MONDAY)] == ([] if fact is None else [f"User: {fact}"])


@pytest.mark.parametrize(
    ("message", "facts"),
    [
        (
            "Ich suche ein Curry, aber ohne Kokosmilch, die vertrag ich nicht",
            ["ohne Kokosmilch, die vertrag ich nicht"],
        ),
        ("Je cherche une idée sans lactose, mon mari le digère pas", ["sans lactose, mon mari le digère pas"]),
        ("Busco seguro para mi madre, tiene 74 y vive sola", ["mi madre, tiene 74 y vive sola"]),
        ("Was schenk ich meinen Großeltern? Ich wohne in Graz.", ["Ich wohne in Graz"]),
        ("Cosa regalo a mio padre? Lui gioca a bocce.", ["mio padre, lui gioca a bocce"]),
        ("como diabético, qué puedo cenar?", ["soy diabético"]),
        ("Als Bäcker muss ich um 2 raus, wie schlaf ich besser?", ["ich bin Bäcker", "ich muss um 2 raus"]),
        ("kun je iets bedenken voor mijn zoon Daan (9)?", ["mijn zoon Daan (9)"]),
        ("co ugotować dla córki, która jest weganką od stycznia?", ["córki, która jest weganką od stycznia"]),
        (
            "Rezept für Soße ohne Knoblauch bitte, mein Mann kriegt Migräne",
            ["ohne Knoblauch, mein Mann kriegt Migräne"],
        ),
        ("Darf ich als Rentner in Teilzeit arbeiten?", ["ich bin Rentner in Teilzeit"]),
        ("como sou celíaca, o que posso comer em Lisboa?", ["sou celíaca"]),
        (
            "Darf mein Hund mit? Er ist ein Bernhardiner und heißt Oskar",
            ["mein Hund, er ist ein Bernhardiner und heißt Oskar"],
        ),
        ("帮我推荐一家餐厅,我女朋友不吃辣", ["我女朋友不吃辣"]),
        ("고양이 두 마리 키우는데 이사 갈 집 추천해줘", ["고양이 두 마리 키우는데"]),
    ],
)
def test_what_is_stated_beside_a_request_stays_with_whom_or_what_it_is_about(message: str, facts: list[str]) -> None:
    assert [each.text for each in extract_facts(message, MONDAY)] == [f"User: {fact}" for fact in facts]


def test_nothing_is_asked_or_stated_by_marks_alone() -> None:
    assert not extract_facts("Ich wohne in Graz. … , , ! 。", MONDAY)[1:]


@pytest.mark.parametrize(
    "message",
    [
        "Maak een quiz over de Tweede Wereldoorlog voor groep 8",
        "把这句话翻译成英文:我爸爸在上海开出租车",
        "придумай диалог: я продавец, а ты покупатель",
        "Mathe Hausaufgabe: Anna hat 12 Äpfel und zieht nach Köln",
        "「もし私が猫を飼っていたら」で始まる短い物語を書いて",
        "lass uns ein Spiel spielen, ich bin der Wolf und du das Schaf",
        "Übersetze ins Spanische, ich habe morgen frei und fahre ans Meer",
        "Schreib einen Tweet für eine Bäckerei, die seit 1920 in Familienhand ist",
        "écris une petite annonce pour une poussette, état neuf, 80 euros",
        "vertel een mop over een Belg",
        "Scrivi una lettera di un marinaio alla fidanzata che vive a Genova",
    ],
)
def test_what_is_to_be_written_or_worked_on_is_nobodys(message: str) -> None:
    assert not extract_facts(message, MONDAY)


def test_a_talk_in_a_language_whose_verbs_stand_last_is_split_behind_them() -> None:
    mother, me = "annem geçen ay felç geçirdi", "ben Kars'ta bir kafede kitap okumaya devam ediyorum"
    talk = f"{me} {mother} teyzem Ayla ona evde her zaman yemek yapar"
    assert [fact.text for fact in extract_facts(talk, MONDAY)][:2] == [f"User: {me}", f"User: {mother}"]


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
