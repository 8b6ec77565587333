"""Short answers, notes and fragments become memories of their writer; tasks, headings and cards of others do not."""

import json
from datetime import date

import pytest

from bench.datasets.short_statements import short_statements
from pipeline.memory.formation.rule_based_extraction import extract_facts


def _memories(text: str) -> list[str]:
    return [fact.text for fact in extract_facts(text, date(2026, 11, 27))]


def test_most_short_statements_of_the_open_half_form_the_memory_they_should() -> None:
    statements = short_statements("open")
    met = sum(statement.is_met_by(_memories(statement.document)) for statement in statements)
    assert met >= 0.95 * len(statements)


@pytest.mark.parametrize(
    ("asked", "answer", "memory"),
    [
        ("Where do you work?", "At Siemens now", "User works at Siemens now"),
        ("Great, thanks! Any allergies I should know about?", "shellfish", "User is allergic to shellfish"),
        ("Do you have siblings?", "one brother", "User has one brother"),
        ("Do you smoke?", "no", "User doesn't smoke"),
        ("Are you allergic to anything?", "yes, peanuts", "User is allergic to peanuts"),
        ("How often do you exercise?", "twice a week", "User exercises twice a week"),
        ("What's your dog's name?", "Bolt", "User's dog's name is Bolt"),
        ("How old are you?", "34", "User is 34 years old"),
        ("Where are you based these days?", "Gdansk, since May", "User is based in Gdansk, since May"),
        ("What's your dog called?", "Waffles", "User's dog is called Waffles"),
        ("Where did you grow up?", "Ghana", "User grew up in Ghana"),
        ("What kind of pet is Biscuit?", "a greyhound", "Biscuit is a greyhound"),
    ],
)
def test_an_answer_is_a_statement_about_who_was_asked(asked: str, answer: str, memory: str) -> None:
    assert _memories(f"assistant: {asked}\nuser: {answer}") == [memory]
    chat = [{"role": "assistant", "content": asked}, {"role": "user", "content": answer}]
    assert _memories(json.dumps(chat)) == [memory]


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("What format do you need?", "json"),
        ("Are you sure?", "yes"),
        ("Do you have a file to share?", "yes"),
        ("What's your error message?", "404"),
        ("What is your main character's name?", "Elora"),
        ("Where are you in the process?", "step 3"),
        ("Do you have any other questions?", "no, thanks"),
        ("Where do you live? And do you have pets?", "yes"),
        ("Where do you live?", "maybe Rome?"),
    ],
)
def test_answers_to_tasks_doubts_and_two_questions_make_no_memory(asked: str, answer: str) -> None:
    assert _memories(f"assistant: {asked}\nuser: {answer}") == []


@pytest.mark.parametrize(
    "text",
    [
        "Name: numpy\nVersion: 2.1\nLicense: BSD",
        "Name: Anna Bauer\nPhone: 0171 555\nEmail: anna@x.de",
        "Job: Senior Engineer\nLocation: Berlin\nSalary: 80k",
        "City: Munich\nRooms: 3\nRent: 1200",
        "always wash your hands",
        "children are curious",
        "closed every monday",
        "Shopping list and stuff",
        "I saw a dog. He was barking.",
        "Suche nach Fehlern im Code",
    ],
)
def test_cards_offers_and_generalities_say_nothing_of_their_writer(text: str) -> None:
    assert all(not memory.startswith("User's") and "User is" not in memory for memory in _memories(text))


def test_each_field_of_a_note_has_its_own_place_in_the_text() -> None:
    text = "Name: Ilse Brandt\nAge: 52\nCity: Kassel"
    facts = extract_facts(text)
    assert [text[fact.start : fact.end] for fact in facts] == text.splitlines()
    assert [fact.text for fact in facts] == [
        "User's name is Ilse Brandt",
        "User is 52 years old",
        "User's city is Kassel",
    ]


def test_a_name_belongs_to_whom_the_sentence_before_introduced() -> None:
    assert "User's cat is called Pickle" in _memories("I adopted a cat last week. He's called Pickle")
    assert "User's neighbour's name is Svea" in _memories("we got a neighbour. Her name is Svea")


@pytest.mark.parametrize(
    ("said", "memory"),
    [
        ("on antibiotics til friday", "User is on antibiotics until 4 December 2026"),
        ("gym membership cancelled", "User's gym membership has been cancelled"),
        ("So no more sugar for me I guess", "User no longer has sugar"),
        ("i'm left handed btw", "User is left-handed"),
        ("Rent went up to 1450 from january", "User's rent went up to 1450 from January"),
        ("Can you remember that I park in bay 27?", "User parks in bay 27"),
        ("Never call me before 10am", "User asks: never call me before 10am"),
        ("hey its Joe", "User is Joe"),
        ("MY SISTER MOVED TO BERLIN!!", "User's sister moved to Berlin"),
        ("mum lives in Cork", "User's mum lives in Cork"),
        ("finance cut our budget to 9k", "User's budget is now 9k"),
        ("i can't eat bread bc i'm coeliac", "User can't eat bread because User is coeliac"),
        ("decided with Ana: keys live 48 hours", "User decided with Ana that keys live 48 hours"),
        ("started physio. twice a week at the Royal", "User started physio, twice a week at the Royal"),
        ("gone pescatarian", "User has gone pescatarian"),
        ("flat viewing thurs 6pm w marta", "User has flat viewing thurs 6pm with Marta"),
        ("offer accepted on a 2 bed in Partick", "User's offer has been accepted on a 2 bed in Partick"),
        ("i got made permanent at the gardens", "User got made permanent at the gardens"),
        ("Yeah my dad, he's selling the boat", "User's dad is selling the boat"),
        ("booked madeira 9-16 may w mum!!", "User booked madeira 9-16 May with mum"),
        ("my daughter's just got into grade 5", "User's daughter has just got into grade 5"),
        ("my dad's moved house", "User's dad has moved house"),
        ("she's on carers allowance cos Finn is autistic", "Finn is autistic"),
        ("I might move to Leeds because my sister lives there", "User's sister lives in Leeds"),
        ("it sounds fun though I can't swim", "User can't swim"),
        ("gone back to eating meat, keto is over", "User has gone back to eating meat"),
        ("i wake up at 5 these days", "User wakes up at 5 these days"),
        ("I'm with Theo these days", "User is with Theo these days"),
        ("These days I cycle to the office", "User cycles to the office these days"),
        ("Nowadays, we drink oat milk", "User drinks oat milk nowadays"),
        ("From now on I cycle to the office", "User cycles to the office from now on"),
        ("I'm using zed now like everyone else", "User is using zed now like everyone else"),
        ("Remote only, I live in Ghent", "User lives in Ghent"),
        ("mon rendez-vous est jeudi", "User: mon rendez-vous est jeudi"),
        ("budget is 1400 max", "User's budget is 1400 max"),
        ("remind me that our lawyer is Elena Rossi", "User's lawyer is Elena Rossi"),
        ("Always run the tests before you push", "User asks: always run the tests before you push"),
        ("Don't suggest pork dishes", "User asks: don't suggest pork dishes"),
        ("never run marathons anymore", "User never runs marathons anymore"),
        ("moved in yesterday", "User moved in on 26 November 2026"),
        ("dont call before 10 i work nights", "User works nights"),
        ("both my cats died", "Both of User's cats died"),
        ("one of my cats has diabetes", "One of User's cats has diabetes"),
        ("my doctor said my cholesterol is too high", "User's cholesterol is too high"),
        ("안녕하세요, 저는 민수예요", "User: 저는 민수예요"),
        ("Жену зовут Оксана", "User: Жену зовут Оксана"),
        ("kızımın adı Elif", "User: kızımın adı Elif"),
        ("Ich bin vom 1. bis 15. Dezember im Urlaub.", "User: Ich bin vom 1. bis 15. Dezember im Urlaub"),
    ],
)
def test_what_is_written_in_a_hurry_is_stated_in_full(said: str, memory: str) -> None:
    assert _memories(said) == [memory]


@pytest.mark.parametrize(
    ("said", "memory"),
    [
        ("the bakery closes at 6", "The bakery closes at 6"),
        ("the clinic uses Doctolib", "The clinic uses Doctolib"),
        ("locker number is 4471", "Locker number is 4471"),
        ("choir rehearsals are monthly now", "Choir rehearsals are monthly now"),
        ("scooter finally died", "Scooter finally died"),
        ("die Probe ist jetzt am Dienstag um 8", "User: die Probe ist jetzt am Dienstag um 8"),
        ("la piscina cierra los lunes", "User: la piscina cierra los lunes"),
        ("la caution est de 900 euros", "User: la caution est de 900 euros"),
        ("physio gave me new exercises", "User's physio gave User new exercises"),
    ],
)
def test_what_a_note_says_of_a_thing_is_kept_if_it_is_specific_or_has_happened(said: str, memory: str) -> None:
    assert _memories(said) == [memory]


@pytest.mark.parametrize(
    "said",
    [
        "kids these days stare at their phones",
        "dinner smells great",
        "pitch is frozen",
        "an alarm went off",
        "trains run every ten minutes",
        "the builders are hammering AGAIN",
        "morgen regnet es wieder",
        "il treno è in ritardo",
        "wie viel Brot kommt am Wochenende",
    ],
)
def test_what_things_do_in_general_or_for_the_moment_makes_no_memory(said: str) -> None:
    assert _memories(said) == []


@pytest.mark.parametrize(
    "said",
    [
        "lmao im dead",
        "oh great, another monday",
        "hey it's Monday",
        "im off to bed",
        "wat is de beste bakker in Gent",
        "I GOT IT!!",
        "answer in 100 words",
        "at least i know why i was so tired",
        "nobody at home knows about it",
        "one of the kids at school bit me",
    ],
)
def test_laughter_irony_and_questions_in_other_languages_make_no_memory(said: str) -> None:
    assert _memories(said) == []


@pytest.mark.parametrize(
    ("said", "memory"),
    [
        ("PASSED my driving test!!", "User passed their driving test"),
        ("I LOVE sushi", "User loves sushi"),
        ("I REALLY hate mornings", "User really hates mornings"),
        ("I USE REST APIs at work", "User uses REST APIs at work"),
        ("I work at IBM", "User works at IBM"),
    ],
)
def test_a_verb_in_capitals_is_read_as_one_and_a_name_stays(said: str, memory: str) -> None:
    assert _memories(said) == [memory]


def test_what_is_dictated_without_stops_is_several_statements() -> None:
    said = "so i started at the bakery on monday and they are nice and i get free bread every day anyway call me back"
    memories = _memories(said)
    assert "User gets free bread every day" in memories
    assert any(memory.startswith("User started at the bakery") for memory in memories)


def test_an_illness_after_somebody_else_was_spoken_of_is_not_the_writers() -> None:
    assert _memories("My sister got her results. It's shingles.") == ["User's sister got her results"]


def test_a_voice_message_of_a_parent_is_about_the_parent() -> None:
    assert _memories("Hey it's mum. I'm at the airport, I'll be back on the 8th.")[-1] == "Mum will be back on the 8th"
    assert _memories("it's mum's birthday on the 9th") == []


def test_a_day_by_which_something_was_promised_is_not_guessed() -> None:
    assert _memories("I promised feedback by Friday.") == ["User promised feedback by Friday"]
