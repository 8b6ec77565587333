"""Sentences in other languages are kept verbatim or dropped."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.memory.formation.rule_based_extraction import extract_facts
from pipeline.memory.languages.language_detection import detect_language
from pipeline.memory.versioning.fact_comparison import find_contradiction


def texts(document: str) -> list[str]:
    return [draft.text for draft in extract_facts(document)]


@pytest.mark.parametrize(
    ("sentence", "kept", "static"),
    [
        ("Ich wohne in Berlin.", "User: Ich wohne in Berlin", True),
        ("Wir haben gestern ein Boot gekauft.", "User: Wir haben gestern ein Boot gekauft", False),
        ("Je n'aime pas le café.", "User: Je n'aime pas le café", True),
        ("Nous sommes allés à Paris.", "User: Nous sommes allés à Paris", False),
        ("Mi hermana trabaja en Google.", "User: Mi hermana trabaja en Google", True),
        ("En 2019 me mudé a Madrid.", "User: En 2019 me mudé a Madrid", False),
        ("私は猫を二匹飼っています。", "User: 私は猫を二匹飼っています", True),
        ("昨日、京都へ行きました。", "User: 昨日、京都へ行きました", False),
        ("我住在北京。", "User: 我住在北京", True),
        ("Ich lebe in Mainz", "User: Ich lebe in Mainz", True),
        ("me mudé a Cali", "User: me mudé a Cali", False),
        ("nie jem glutenu", "User: nie jem glutenu", True),
        ("Je vous informe que ma fille est allergique au lait.", "User: ma fille est allergique au lait", False),
        ("Tenemos dos gatos.", "User: Tenemos dos gatos", False),
        ("Uczę się hiszpańskiego.", "User: Uczę się hiszpańskiego", True),
        ("İşe otobüsle gidiyorum.", "User: İşe otobüsle gidiyorum", False),
        ("Мы живём в Казани", "User: Мы живём в Казани", False),
        ("मेरा जिम स्टेशन के पास है।", "User: मेरा जिम स्टेशन के पास है", False),
        ("나는 스페인어를 배운다.", "User: 나는 스페인어를 배운다", False),
        ("ฉันแพ้กุ้ง", "User: ฉันแพ้กุ้ง", False),
        ("Mijn wekker gaat om zeven uur.", "User: Mijn wekker gaat om zeven uur", False),
        ("Työskentelen pienessä kustantamossa", "User: Työskentelen pienessä kustantamossa", True),
        ("Muutettiin Turkuun viime kuussa.", "User: Muutettiin Turkuun viime kuussa", False),
        ("Allergiás vagyok a mogyoróra.", "User: Allergiás vagyok a mogyoróra", True),
        ("Tegnap felmondtam a banknál.", "User: Tegnap felmondtam a banknál", False),
        ("Preselili smo se u Osijek prošli mjesec.", "User: Preselili smo se u Osijek prošli mjesec", False),
        ("Saya vegetarian dan tidak suka pedas.", "User: Saya vegetarian dan tidak suka pedas", True),
    ],
)
def test_personal_statements_are_kept_verbatim(sentence: str, kept: str, static: bool) -> None:
    assert [(draft.text, draft.is_static) for draft in extract_facts(sentence)] == [(kept, static)]


@pytest.mark.parametrize(
    "sentence",
    [
        "Wie geht es dir?",
        "Vielleicht ziehe ich um.",
        "Danke, das ist sehr nett von dir!",
        "Das Auto ist rot.",
        "Je pense que oui, c'est possible.",
        "Merci beaucoup pour tout!",
        "Si tengo tiempo, voy.",
        "Creo que me gusta.",
        "お元気ですか\uff1f",
        "ありがとうございます。",
        "たぶん行きます。",
        "座ってください。",
        "你好吗\uff1f",
        "Mikä on Suomen pisin joki?",
        "Kiitos avusta!",
        "Mennyi idő alatt fő meg a tojás?",
        "Köszönöm, ez sokat segített!",
        "Koliko je visok Velebit",
        "Hvala ti puno na pomoći!",
        "Bagaimana cara membuat rendang?",
        "Terima kasih banyak atas bantuannya!",
        "Wo wohne ich",
        "Habe ich eine Allergie",
        "Où est-ce que j'habite ?",
        "¿Soy madrugador?",
        "Dove abito?",
        "Gdzie mieszkam",
        "Ile mamy kotów?",
        "Waar woon ik?",
        "ben moe",
        "tengo hambre",
        "Где я живу",
        "何時に起きる\uff1f",
        "我对什么过敏\uff1f",
        "ما هو عملي\u061f",
        "Πού μένω;",
        "ฉันทำงานอะไร",
        "हमारी बैठक कब है?",
    ],
)
def test_questions_doubts_and_impersonal_sentences_state_nothing(sentence: str) -> None:
    assert texts(sentence) == []


def test_a_chat_in_another_language_names_the_speaker() -> None:
    assert texts("Ann: Ich wohne in Berlin.\nBob: Ich mag Tee.") == [
        "Ann: Ich wohne in Berlin",
        "Bob: Ich mag Tee",
    ]
    assert texts("田中\uff1a私は東京に住んでいます。\n鈴木\uff1a猫が好きです。\n") == [
        "田中: 私は東京に住んでいます",
        "鈴木: 猫が好きです",
    ]


@pytest.mark.parametrize(
    "sentence",
    [
        "I love Rio de Janeiro.",
        "Many people die in war.",
        "I had an El Salvador coffee.",
        "I met Le Corbusier.",
        "Maria drinks no alcohol.",
        "Bob owns no car.",
        "I'm starting a dance studio.",
        "I've got a piano solo.",
        "Bruno died yesterday.",
        "gym membership cancelled",
    ],
)
def test_english_with_foreign_words_stays_english(sentence: str) -> None:
    assert not any(": " in text for text in texts(sentence))


FOREIGN = st.text(
    alphabet=st.sampled_from("ich mein je mon yo mi 私は住んで。我\uff1fñéß'\u2019.?! \n:\uff1a"), max_size=80
)


@settings(max_examples=60)
@given(FOREIGN)
def test_any_text_is_accepted_and_spans_match_the_sentences(document: str) -> None:
    for draft in extract_facts(document):
        assert draft.start is not None
        assert document[draft.start : draft.end].strip()


@pytest.mark.parametrize(
    ("said", "statements"),
    [
        (
            "Hallo, ich bin Karl, wohne in Graz und arbeite als Koch.",
            ["ich bin Karl", "wohne in Graz", "arbeite als Koch"],
        ),
        ("Ich wohne in Graz, seit ich bei Magna arbeite.", ["Ich wohne in Graz, seit ich bei Magna arbeite"]),
        ("Ich habe einen Hund und ich liebe ihn.", ["Ich habe einen Hund und ich liebe ihn"]),
        ("Salut, moi c'est Luc, 41 ans, j'habite à Nice.", ["moi c'est Luc", "41 ans", "j'habite à Nice"]),
        ("Hola, soy Marta, vivo en Vigo.", ["soy Marta", "vivo en Vigo"]),
        ("Hola a todos, soy Marta, vivo en Vigo.", ["soy Marta", "vivo en Vigo"]),
        ("Salut tout le monde, je suis Luc, j'habite à Nice.", ["je suis Luc", "j'habite à Nice"]),
        ("Hoi allemaal, ik ben Sanne en ik woon in Gent.", ["ik ben Sanne", "ik woon in Gent"]),
        ("Hej alla, jag heter Nils och bor i Lund.", ["jag heter Nils", "bor i Lund"]),
        (
            "Coucou, moi c'est Nadia, prof de yoga à Lille, maman de deux garçons, Adam et Elias",
            ["moi c'est Nadia", "prof de yoga à Lille", "maman de deux garçons, Adam et Elias"],
        ),
        ("你好,我叫王磊,今年35岁,在上海做会计。", ["我叫王磊", "今年35岁", "在上海做会计"]),
        ("Hoi, ik woon in Utrecht en werk als docent.", ["ik woon in Utrecht", "werk als docent"]),
        ("Привет, меня зовут Иван, живу в Казани.", ["меня зовут Иван", "живу в Казани"]),
    ],
)
def test_an_introduction_says_each_thing_by_itself(said: str, statements: list[str]) -> None:
    assert [fact.text for fact in extract_facts(said)] == [f"User: {stated}" for stated in statements]


@pytest.mark.parametrize(
    ("said", "statements"),
    [
        (
            "meine freundin Carla kommt aus sevilla und arbeitet im krankenhaus",
            ["meine freundin Carla kommt aus sevilla und arbeitet im krankenhaus"],
        ),
        ("mon frère habite à Lyon et travaille à la poste", ["mon frère habite à Lyon et travaille à la poste"]),
        ("mijn zus woont in Gent en werkt in een bank", ["mijn zus woont in Gent en werkt in een bank"]),
        ("mi hermana vive en Lima y yo trabajo en un banco", ["mi hermana vive en Lima", "yo trabajo en un banco"]),
    ],
)
def test_what_a_relative_does_besides_stays_with_the_relative(said: str, statements: list[str]) -> None:
    assert [fact.text for fact in extract_facts(said)] == [f"User: {stated}" for stated in statements]


@pytest.mark.parametrize(
    ("said", "statement"),
    [
        ("Ich habe einen Hund. Er heißt Bruno.", "Ich habe einen Hund. Er heißt Bruno"),
        ("Ho un cane. Si chiama Zorro.", "Ho un cane. Si chiama Zorro"),
        ("Mam psa. Wabi się Reksio.", "Mam psa. Wabi się Reksio"),
        ("Mi hermana es médica. Vive en Lima con su marido.", "Mi hermana es médica. Vive en Lima con su marido"),
        ("Mio fratello è cuoco. Lavora a Parma da maggio.", "Mio fratello è cuoco. Lavora a Parma da maggio"),
        ("Jule hat bestanden! Sie studiert ab Mai in Bonn.", "Jule hat bestanden! Sie studiert ab Mai in Bonn"),
        ("猫を二匹飼っています。名前はモモとクロです。", "猫を二匹飼っています。名前はモモとクロです"),
    ],
)
def test_a_sentence_that_names_whom_the_one_before_tells_of_stays_with_it(said: str, statement: str) -> None:
    fact, *others = extract_facts(said)
    assert (fact.text, fact.start, fact.end, others) == (f"User: {statement}", 0, len(said), [])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("jag jobbar som kock i Umeå", "jag har sagt upp mig, jobbar nu som lärare"),
        ("Mijn nummer is 0471 33 20 18", "mijn nummer is nu 0496 85 17 40"),
        ("私は糖質制限中です", "糖質制限はやめました"),
        ("저는 담배를 피워요", "드디어 담배 끊었습니다"),
        ("tenho um cachorro chamado Thor", "o Thor morreu mês passado"),
        ("il mio gatto si chiama Birba", "Birba è scappato e non è più tornato"),
        ("lavoro da Eataly", "ho lasciato Eataly ieri"),
        ("Ich bin schwanger", "Unsere Tochter ist da! Sie heißt Fenja"),
        ("je suis enceinte", "notre fille est née mardi"),
        ("Asun Tampereella", "Muutin Ouluun elokuussa"),
        ("Egy bankban dolgozom", "Felmondtam a bankban"),
    ],
)
def test_another_job_or_number_or_what_is_over_ends_what_was_said(before: str, after: str) -> None:
    old, new = extract_facts(before)[0], extract_facts(after)
    assert any(find_contradiction(fact.attributes, old.attributes) is not None for fact in new)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("la mia ragazza si chiama Giulia", "Giulia ha perso il telefono in spiaggia"),
        ("mi perro se llama Toby", "Toby perdió la pelota"),
        ("Meine Schwester ist schwanger", "Unsere Tochter ist da! Sie heißt Fenja"),
        ("sono incinta", "sono nata a Roma"),
        ("trabalho numa loja em Braga", "a loja mudou o horário para as 10"),
    ],
)
def test_who_has_lost_or_left_something_is_still_there(before: str, after: str) -> None:
    old, new = extract_facts(before)[0], extract_facts(after)
    assert not any(find_contradiction(fact.attributes, old.attributes) is not None for fact in new)


def test_a_changed_fact_ends_no_other_that_shares_only_have() -> None:
    age, car = extract_facts("Hola, soy Inés, tengo 41 años")[1], extract_facts("Ya no tengo coche, lo vendí")[0]
    assert find_contradiction(car.attributes, age.attributes) is None


def test_minutes_tell_what_has_a_day_or_a_number_and_go_on_in_their_language() -> None:
    minutes = "Verslag overleg\n- Anna werkt niet meer op vrijdag\n- het budget is 40 duizend euro\n- koffie is op"
    assert texts(minutes) == ["Anna werkt niet meer op vrijdag", "het budget is 40 duizend euro"]


@pytest.mark.parametrize(
    "frame",
    [
        "Querida tía Inés",
        "Journal de Margaux, 18 nov.",
        "Bises, Martine",
        "日記 11月20日 晴れ。",
        "Le escribo para contarle mis planes.",
        "Er hat meine Nummer seit Mai.",
        "Vive ahora conmigo en Getafe.",
    ],
)
def test_the_frame_of_a_letter_and_what_names_nobody_state_nothing(frame: str) -> None:
    assert not texts(f"{frame}\n\nWir wohnen in Kiel, ich arbeite dort als Koch.")[1:]


def test_a_relatives_name_is_a_memory_of_its_own_beside_what_passes_only() -> None:
    assert texts("Mein Mann Hauke hat eine Stelle bekommen.")[1:] == ["User: Mein Mann Hauke"]
    assert texts("Mein Mann Hauke arbeitet nachts.")[1:] == []
    assert texts("weil meine Mutter Geburtstag hat, fahren wir nach Kiel")[1:] == []


def test_notes_on_a_patient_say_nothing_of_their_writer() -> None:
    assert texts("Paciente: homem, 54 anos. Refere dor torácica há dois dias.")[-1:] == [
        "The patient: Refere dor torácica há dois dias"
    ]


def test_what_tells_something_after_a_comma_is_kept_without_what_stands_before_it() -> None:
    talk = "Anna: hej! hur mår ni?\nSven: bra\nAnna: här är det kaos, Pontus har fått sparken"
    assert texts(talk) == ["Anna: Pontus har fått sparken"]


def test_whom_an_institution_addresses_did_not_write_its_letter() -> None:
    letter = "Beste bewoners,\nDe fietsenkelder is verhuisd naar de Kerkstraat 12."
    assert texts(letter) == ["De fietsenkelder is verhuisd naar de Kerkstraat 12"]


def test_what_is_talked_without_stops_is_split_where_the_speaker_begins_anew() -> None:
    said = "hallo ihr wegen weihnachten noch wir kommen am dritten mit dem zug und bleiben und ich esse kein fisch"
    assert texts(said) == [
        "User: wir kommen am dritten mit dem zug und bleiben",
        "User: ich esse kein fisch",
    ]


def test_a_question_after_a_comma_makes_a_question_of_the_whole() -> None:
    assert not texts("Pili: hola\nSole: pues pasamos a martes, no?\nPili: sí")


@pytest.mark.parametrize("question", ["Яким транспортом користується Том", "Fino a quando posso fare la spesa qui"])
def test_a_question_without_its_mark_makes_no_memory_whatever_language_it_resembles(question: str) -> None:
    assert not texts(question)


@pytest.mark.parametrize("sentence", ["Fındığa alerjim var.", "Er is een derde kat bij ons komen wonen."])
def test_words_that_other_languages_have_too_hide_no_statement(sentence: str) -> None:
    assert texts(sentence)


@pytest.mark.parametrize(
    "clauses",
    [
        (
            "also ich hab den Bescheid gekriegt",
            "und die Rente ist durch ab März",
            "und die Ulrike ist wieder schwanger",
        ),
        (
            "on a trouvé une maison à Vannes avec un jardin",
            "et maman vient vivre avec nous elle peut plus rester seule",
        ),
        ("und den Laden hab ich zum Monatsende aufgegeben nach dreißig Jahren weil das Knie einfach nicht mehr will",),
    ],
)
def test_talk_without_stops_is_split_where_somebody_else_is_told_of(clauses: tuple[str, ...]) -> None:
    said = " ".join(clauses)
    profile = detect_language(said)
    assert profile is not None
    assert profile.without_stops(said) == list(clauses)
