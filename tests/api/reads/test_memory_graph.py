"""Names in memories: the people, places and things of a graph."""

from hypothesis import given
from hypothesis import strategies as st

from api.reads.memory_graph import find_names


def test_names_lead_to_the_texts_that_have_them() -> None:
    texts = ["User lives in Bergen", "User's sister Inês Moreira lives in Bergen", "User plays the cello"]
    assert find_names(texts) == {"User": [0, 1, 2], "Bergen": [0, 1], "Inês Moreira": [1]}


def test_a_word_that_only_begins_a_text_is_no_name() -> None:
    assert find_names(["Every bottle has a name", "Ada leads the tests", "Ada likes Rome"]) == {
        "Ada": [1, 2],
        "Rome": [2],
    }


def test_possessives_end_a_name_and_other_apostrophes_do_not() -> None:
    assert find_names(["User drives Nora\u2019s Volvo", "User knows Liam O'Brien"]) == {
        "User": [0, 1],
        "Liam O'Brien": [1],
        "Nora": [0],
        "Volvo": [0],
    }


def test_days_months_and_words_that_are_also_small_are_no_names() -> None:
    assert find_names(["User flies on Friday 3 May with the Team", "The team of user meets"]) == {}


def test_an_article_that_begins_several_texts_is_no_name() -> None:
    assert find_names(["The meeting is in Oslo", "The boat is gone", "My aunt sings"]) == {"Oslo": [0]}


def test_scripts_without_capitals_have_no_names() -> None:
    assert find_names(["用户住在北京", "المستخدم يعيش في القاهرة"]) == {}


@given(st.lists(st.text(max_size=60), max_size=8))
def test_every_name_stands_in_the_texts_it_leads_to(texts: list[str]) -> None:
    for name, places in find_names(texts).items():
        assert places == sorted(set(places))
        assert all(name in texts[place] for place in places)
