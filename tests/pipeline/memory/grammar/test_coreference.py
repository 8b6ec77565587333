"""Resolution of he and she: only with a single possible antecedent."""

import pytest

from pipeline.memory.formation.rule_based_extraction import extract_facts


def texts(document: str) -> list[str]:
    return [draft.text for draft in extract_facts(document)]


def test_the_antecedent_stays_until_somebody_else_is_named() -> None:
    assert texts("My sister Ana works in Rome. She's a nurse. Her dog is called Rex. He barks.") == [
        "User's sister Ana works in Rome",
        "User's sister Ana is a nurse",
        "User's sister Ana's dog is called Rex",
    ]
    assert texts("Alice works at Google. She lives in Rome.") == [
        "Alice works at Google",
        "Alice lives in Rome",
    ]
    assert texts("Maria works at the LKH Hospital and has two cats, Mimi and Tom. She eats no meat.")[2:] == [
        "Maria eats no meat"
    ]
    assert texts("Ana works at Acme. In 2020 she moved to Rome.")[1:] == ["Ana moved to Rome in 2020"]
    assert texts("Ann: My dog Max turned five. He loves the beach.") == [
        "Ann's dog Max turned five",
        "Ann's dog Max loves the beach",
    ]


def test_what_the_speaker_says_of_themselves_names_nobody_else() -> None:
    assert (
        texts("My girlfriend is pescatarian. I like hiking. My budget is 4000 euros. She turns 30 on 9 April 2027.")[-1]
        == "User's girlfriend turns 30 on 9 April 2027"
    )


@pytest.mark.parametrize(("said", "memory"), [
    ("mum had a fall. she's in hospital", "User's mum is in hospital"),
    ("it's my dad's birthday. he's diabetic", "User's dad is diabetic"),
    ("my brother's wedding is in May. he's marrying Ines", "User's brother is marrying Ines"),
    ("my wife's brother moved in. he's a plumber", "User's wife's brother is a plumber"),
    ("we're visiting grandma. she's 91", "User's grandma is 91"),
    ("Cillian and I had a rough time. He took a contract in Ghent.", "Cillian took a contract in Ghent"),
    ("I met Ana yesterday. She works at Siemens.", "Ana works at Siemens"),
    ("a gift for my girlfriend? she's a potter. budget 80 euros. her name is Noor", "User's girlfriend's name is Noor"),
])  # fmt: skip
def test_a_relative_of_the_speaker_is_meant_however_they_were_named(said: str, memory: str) -> None:
    assert texts(said)[-1] == memory


@pytest.mark.parametrize("said", [
    "My sister called. The CEO resigned. She was 60.",
    "My brother's boss is strict. He shouts a lot.",
    "I met my son's teacher. She has two kids.",
])  # fmt: skip
def test_a_relative_is_not_meant_where_somebody_else_may_be(said: str) -> None:
    assert not any("60" in text or "shouts" in text or "two kids" in text for text in texts(said))


@pytest.mark.parametrize(
    "said", ["He is mad about them.", "He gave him a job in Oslo.", "He wants her to move to Oslo."]
)
def test_a_clause_with_somebody_else_who_is_not_named_states_nothing(said: str) -> None:
    assert texts(f"My nephew Otto is six. {said}") == ["User's nephew Otto is six"]


@pytest.mark.parametrize(
    "before",
    [
        "Alice met Barbara.",
        "My sister called my mother.",
        "The weather is nice.",
        "Alice works with a woman from Rome.",
        "Alice has a son, Ben.",
        "Alice met Barbara and Carla.",
        "Alice?",
    ],
)
def test_an_ambiguous_pronoun_states_nothing(before: str) -> None:
    assert not any("Oslo" in text for text in texts(f"{before} She lives in Oslo."))


@pytest.mark.parametrize(
    ("sentence", "text"),
    [
        ("She's been working on a book.", "Ana has been working on a book"),
        ("She'll move to Oslo in June 2030.", "Ana will move to Oslo in June 2030"),
        ("His car broke down in Graz.", "Ana's car broke down in Graz"),
        ("Last year she moved to Graz.", "Ana moved to Graz last year"),
    ],
)
def test_a_pronoun_is_replaced_by_the_name(sentence: str, text: str) -> None:
    assert texts(f"Ana works at Acme. {sentence}")[1:] == [text]


def test_she_is_nobodys_uncle() -> None:
    said = "My uncle has a garage. She is a nurse. He is a joiner."
    assert [fact.text for fact in extract_facts(said)] == ["User's uncle has a garage", "User's uncle is a joiner"]


def test_whom_he_meant_is_no_she() -> None:
    said = "Called Robbie in Perth, he's flying home in May. The garden is lovely. She planted those tulips in March."
    assert not [text for text in texts(said) if "tulips" in text]


def test_a_relative_with_a_name_is_who_she_is() -> None:
    assert texts("My cousin Farah is visiting from Toronto. She's allergic to cats.")[1:] == [
        "Farah is allergic to cats"
    ]
    assert texts("My sister in law works at Bosch. She's turning 40.")[1:] == ["User's sister-in-law is turning 40"]


def test_whom_a_short_question_names_is_who_he_is() -> None:
    chat = "Tash: guess who rang me\nBex: no!! not Kieran?\nTash: yep. he's moving back to Cardiff in May"
    assert texts(chat) == ["Kieran is moving back to Cardiff in May"]
