"""A note's bare subject is its writer's; what is said of all of a kind, or by others, is not."""

import pytest

from pipeline.memory.formation.rule_based_extraction import extract_facts
from pipeline.memory.languages.english_subjects import with_owners


def _memories(text: str) -> list[str]:
    return [fact.text for fact in extract_facts(text)]


@pytest.mark.parametrize(
    ("note", "owned"),
    [
        ("house sale fell through again", "my house sale fell through again"),
        ("knee's all good again", "my knee is all good again"),
        ("kids are 4 and 7 now", "my kids are 4 and 7 now"),
        ("daughter allergic to eggs", "my daughter is allergic to eggs"),
        ("gym membership cancelled", "my gym membership has been cancelled"),
        ("parents selling the house in Leeds", "my parents are selling the house in Leeds"),
        ("wife's due date is 3 march", "my wife's due date is 3 march"),
        ("budget's 30k now", "my budget is 30k now"),
        ("standup is at 9", "my standup is at 9"),
        ("mother in law is staying with us", "my mother in law is staying with us"),
    ],
)
def test_a_bare_subject_that_people_have_is_the_writers(note: str, owned: str) -> None:
    assert with_owners(note) == owned


@pytest.mark.parametrize(
    "note",
    [
        "kids are expensive",
        "back home",
        "delivery includes a card",
        "gym was packed",
        "skin is the largest organ",
        "Visa is my biggest client",
        "price went up to 60 dollars according to the news",
        "Omar's boss is Liv",
        "mum is home",
        "knee high socks are in fashion",
        "northgate is 50 minutes by bus",
        "bitcoin is 100k",
        "User has a parrot called Kiwi",
        "Tom adopted a dog named Rex",
        "Ada has two kids named Ann and Bo",
        "Mia keeps another horse called Star",
        "a dentist moved to friday",
    ],
)
def test_what_is_said_of_all_or_of_others_gets_no_owner(note: str) -> None:
    assert with_owners(note) == note


@pytest.mark.parametrize(
    ("note", "memories"),
    [
        ("physio says 6 weeks no running", ["User's physio says 6 weeks no running"]),
        ("boyfriend proposed!!!", ["User's boyfriend proposed"]),
        ("half marathon is off, pulled my hamstring", ["User's half marathon is off", "User pulled their hamstring"]),
        ("cast came off, wrist is all healed", ["User's cast came off", "User's wrist is all healed"]),
        ("my mum lives in Cork", ["User's mum lives in Cork"]),
        ("I can't eat gluten", ["User can't eat gluten"]),
        ("I don't drink", ["User doesn't drink"]),
        ("our cleaner comes on tuesdays", ["User's cleaner comes on tuesdays"]),
        ("we are vegetarians", ["User is a vegetarian"]),
        ("we're best friends", []),
        ("we're two adults and a baby", []),
        ("I already read the one in uni", []),
        ("driving licence at 41", []),
        ("mama ma operację w piątek", ["User: mama ma operację w piątek"]),
        ("miete geht ab januar auf 890 hoch", ["User: miete geht ab januar auf 890 hoch"]),
        ("pies wabi się Bursztyn", ["User: pies wabi się Bursztyn"]),
        ("oma liegt seit montag im krankenhaus", ["User: oma liegt seit montag im krankenhaus"]),
        ("kinder sind laut", []),
        ("der Hund von nebenan bellt", []),
    ],
)
def test_a_hurried_note_says_in_full_what_is_its_writers(note: str, memories: list[str]) -> None:
    assert _memories(note) == memories
