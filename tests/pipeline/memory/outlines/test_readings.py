"""Outlines of statements: whom and what they are about, and what they say is over."""

from pipeline.memory.outlines.readings import outline


def test_a_statement_is_about_the_user_somebody_of_theirs_or_a_name() -> None:
    assert outline("User's rent is 820 euros").holder == "user"
    assert outline("User's brother sold his car").holder == "user brother"
    assert outline("Lena broke up with Finn").holder == "lena"
    assert outline("The rent went up").holder == "user"
    assert outline("User: meine Schwester wohnt in Ulm").holder == "user schwester"


def test_what_is_over_is_the_object_or_the_subject_of_its_end() -> None:
    assert [phrase.head for phrase in outline("User gave the cello back").ended] == ["cello"]
    assert [phrase.head for phrase in outline("User's cold is gone, feeling great").ended] == ["cold"]
    assert outline("User took the dog out for a walk").ended == ()


def test_days_are_no_part_of_what_changes() -> None:
    assert outline("User sold the car on 20 November 2026").words == outline("User sold the car").words


def test_statements_that_may_replace_each_other_share_an_address() -> None:
    for newer, older in (
        ("Aiko left User for Figma", "User's designer is Aiko"),
        ("Deniz is scrum master now", "Priya is User's scrum master"),
        ("Appointment is on Wednesday now", "User's appointment is on Monday"),
    ):
        assert not outline(newer).addresses.isdisjoint(outline(older).addresses)
