"""Search by meaning with the default embedder: paraphrases, other languages, and what holds now."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date

import numpy as np
import pytest

from api.search.search_query import SearchContext, SearchModels, search_index
from bench.ranking import remembered
from bench.recall import build_text_index
from pipeline.errors import OutageError
from pipeline.index.namespace_index import NamespaceIndex
from pipeline.index.query_analysis import analyze_query
from pipeline.index.ranking.ranking_parameters import FEW_ROWS_EVIDENCE
from pipeline.index.ranking.search_request_and_hits import Hit, SearchRequest
from pipeline.models.e5.e5_embedder import E5Embedder
from pipeline.models.e5_with_encoder_embedder import E5WithEncoderEmbedder
from pipeline.ports import Embedder
from pipeline.rows import Vector
from schemas.http.v5.search_bodies import SearchBody

pytestmark = pytest.mark.anyio
FACTS = (
    "Paul eats neither meat nor fish.",
    "Sam bought a Pixel last week.",
    "User used to play tennis.",
    "Internal note of the fleet committee: two vans need new tyres.",
    "My sister lives in Rome.",
    "I live in Hamburg.",
)


@pytest.fixture(params=[E5Embedder, E5WithEncoderEmbedder])
def model(request: pytest.FixtureRequest) -> E5Embedder:
    opened: E5Embedder = request.param.from_package()
    return opened


async def _found(model: E5Embedder, question: str, texts: Sequence[str], dates: Sequence[str] = ()) -> list[str]:
    """The texts that a search with all defaults finds, best first."""
    documents = [(str(at), day) for at, day in enumerate(dates)] if dates else None
    return await _found_in(await build_text_index(texts, model, documents), model, question)


async def _found_in(index: NamespaceIndex, model: Embedder, question: str) -> list[str]:
    hits = await index.search(await analyze_query(index, model, question), SearchRequest())
    return [hit.text for hit in hits]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Who is a vegetarian?", FACTS[0]),
        ("Wer ist Vegetarier?", FACTS[0]),
        ("What phone does Sam use?", FACTS[1]),
        ("Which cars need repair?", FACTS[3]),
        ("where do I live?", FACTS[5]),
    ],
)
async def test_what_is_meant_comes_first_whatever_its_words(model: E5Embedder, question: str, answer: str) -> None:
    assert (await _found(model, question, FACTS))[0] == answer


SAMI = ("Sami left the bakery in May.", "I have a meeting with Sami next Friday.", "Der Elektriker kommt um acht.")


@pytest.mark.parametrize(
    "question",
    [
        "When is Sami's birthday?",
        "Wann hat Sami Geburtstag?",
        "サミの誕生日はいつですか",
        "Wie heißt der Elektriker?",
    ],
)
async def test_a_name_and_a_time_are_no_answer_where_another_kind_of_thing_is_asked_for(
    model: E5Embedder, question: str
) -> None:
    index = await build_text_index(SAMI, model)
    hits = await index.search(await analyze_query(index, model, question), SearchRequest())
    assert all(hit.similarity < 0.5 for hit in hits)


@pytest.mark.parametrize("question", ["Where does Sami work?", "¿Dónde trabaja Sami?", "Var jobbar Sami?"])
async def test_nothing_else_of_somebody_is_a_sure_answer_where_their_workplace_is_asked_for(
    model: E5Embedder, question: str
) -> None:
    texts = ("Sami has a new dog.", "Sami is allergic to bees.", "Sami plays the tuba in our band.")
    index = await build_text_index(texts, model)
    hits = await index.search(await analyze_query(index, model, question), SearchRequest())
    assert all(hit.similarity < 0.5 for hit in hits)


@pytest.mark.parametrize("birthday", ["Sami turns forty in June.", "Sami wird im Juni vierzig."])
async def test_what_is_asked_for_comes_before_other_times_of_the_same_person(model: E5Embedder, birthday: str) -> None:
    assert (await _found(model, "When is Sami's birthday?", (*SAMI, birthday)))[:1] == [birthday]


@pytest.mark.parametrize(
    ("texts", "home"),
    [
        (
            (
                "I am Priya, a dental hygienist in Auckland, and I love surfing.",
                "I'm allergic to shellfish.",
                "We moved to Wellington last week.",
            ),
            2,
        ),
        (("Hi, I'm Tess, hygienist in Auckland", "We moved to Wellington last week", "I'm on a statin since May"), 1),
        (
            (
                "I'm Ada, I teach maths at a school in Delft",
                "I stopped teaching, I work at the city archive now",
                "we moved to Rotterdam in March",
            ),
            2,
        ),
        (("hola, soy Ana, enfermera en Vigo", "nos mudamos a Lugo en enero"), 1),
        (("I'm Bo, baker in Leith", "we moved the sofa to the attic"), 0),
        (("I teach in Oslo", "my sister moved to Bergen"), 0),
    ],
)
async def test_a_move_comes_before_a_job_that_names_another_place(texts: tuple[str, ...], home: int) -> None:
    question = "¿Dónde vivo?" if "soy" in texts[0] else "Where do I live?"
    model = E5WithEncoderEmbedder.from_package()
    assert (await _found_in(await remembered(texts, 0, model), model, question))[0] == texts[home]


async def test_a_new_home_replaces_no_job() -> None:
    texts = ("I work at the harbour in Porto", "My parents live in Braga", "I moved in with Rita in Gaia")
    model = E5WithEncoderEmbedder.from_package()
    assert (await _found_in(await remembered(texts, 0, model), model, "Where do I work?"))[0] == texts[0]


async def test_the_only_document_of_a_namespace_is_found_by_what_it_means(model: E5Embedder) -> None:
    assert await _found(model, "Who is a vegetarian?", FACTS[:1]) == [FACTS[0]]


async def test_the_only_document_is_silent_about_something_else(model: E5Embedder) -> None:
    assert await _found(model, "How do I compile a Linux kernel?", FACTS[:1]) == []


NUMBERS = (
    "My sister Ines is a doctor in Faro.",
    "Den Schlüssel zum Keller hat der Hausmeister.",
    "Oma wird im Mai neunzig.",
    "The plumber's number is in the blue notebook.",
)


@pytest.mark.parametrize(
    "question", ["What is my sister's phone number?", "Welche Telefonnummer hat der Hausmeister?", "How old is Ines?"]
)
async def test_a_statement_without_a_number_is_no_answer_where_one_is_asked_for(
    model: E5Embedder, question: str
) -> None:
    assert await _found(model, question, NUMBERS[:2]) == []


@pytest.mark.parametrize(
    ("question", "answer"),
    [("How old will grandma be?", NUMBERS[2]), ("What is the phone number of the plumber?", NUMBERS[3])],
)
async def test_a_numeral_or_the_place_of_a_number_answers(model: E5Embedder, question: str, answer: str) -> None:
    assert (await _found(model, question, NUMBERS))[0] == answer


@pytest.mark.parametrize(
    ("question", "answer", "other"),
    [
        ("What is Henrike's phone number?", "Henrike's phone number hangs at the fridge.", "Henrike has 3 cats."),
        ("numéro de téléphone de Léa", "Léa, appelle le 06 12 34 56 78.", "Léa a deux enfants, et quatre chats. " * 5),
        ("Olgas E-Mail-Adresse", "Olga ist olga@example.org.", "Olga hat drei Kinder."),
    ],
)
async def test_not_every_numeral_answers_a_question_for_a_phone_number_or_an_address(
    model: E5Embedder, question: str, answer: str, other: str
) -> None:
    assert await _found(model, question, (answer, other)) == [answer]


async def test_a_question_of_one_word_in_a_frame_is_answered_by_what_has_the_word(model: E5Embedder) -> None:
    assert "User lives in Lisbon" in await _found(model, "Where does she live?", ("User lives in Lisbon", "It rains."))


async def test_words_prove_less_where_there_are_few_rows(model: E5Embedder) -> None:
    asked = await analyze_query(await build_text_index(FACTS, model), model, "Who bought a Pixel with a broken screen?")
    half = np.full(1, 0.5, np.float32)
    few, more, many = [float(replace(asked, row_count=rows).bm25_contribution(half)[0]) for rows in (60, 200, 300)]
    assert 0.0 < few < more < many
    assert many <= few * FEW_ROWS_EVIDENCE + 1e-6


async def test_the_only_word_of_a_question_makes_no_sure_answer_of_what_has_it(model: E5Embedder) -> None:
    texts = ("Phone the vet about the dog's tablets.", "You can ring me in the evenings.")
    index = await build_text_index(texts, model)
    hits = await index.search(await analyze_query(index, model, "what phone do I have?"), SearchRequest(threshold=0.0))
    assert {hit.text: hit.similarity for hit in hits}[texts[0]] < 0.9


@pytest.mark.parametrize(
    ("question", "is_doubted"),
    [
        ("What does Olga think of the plan?", True),
        ("What does Marta think of the plan?", False),
        ("Co Olga sądzi o planie?", True),
        ("Co Marcie się podoba w planie?", False),
        ("Was denkt Olga über den Plan?", False),
    ],
)
async def test_nobody_answers_for_somebody_whom_nothing_names(question: str, is_doubted: bool) -> None:
    model = E5WithEncoderEmbedder.from_package()
    index = await build_text_index(("Marta likes the plan for the garden.", "The plan is too expensive."), model)
    hits = await index.search(await analyze_query(index, model, question), SearchRequest(threshold=0.0, explain=True))
    assert [hit.text for hit in hits if "unknownName" in (hit.explanation or {})] == (
        [hit.text for hit in hits] if is_doubted else []
    )


@pytest.mark.parametrize("question", ["What's my nephew called?", "Wie heißt mein Neffe?"])
async def test_a_name_that_follows_a_relative_tells_the_relatives_name(model: E5Embedder, question: str) -> None:
    texts = ("My nephew Otto turns six on the 3rd of May.", "My nephew turns six in May.")
    assert await _found(model, question, texts) == [texts[0]]


@pytest.mark.parametrize(
    ("question", "own", "other"),
    [
        ("What is my wife's name?", "My girlfriend's name is Lea.", "My daughter's name is Mia."),
        ("Wie heißt mein Sohn?", "Mein Sohn heißt Jan.", "Mein Bruder heißt Kai."),
        ("夫の名前は何ですか", "夫の名前は健二です。", "娘の名前はひなたです。"),
    ],
)
async def test_what_is_told_of_one_relative_is_no_answer_about_another(
    model: E5Embedder, question: str, own: str, other: str
) -> None:
    assert await _found(model, question, (other,)) == []
    assert (await _found(model, question, (other, own))) == [own]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How old is my sister's son?", "My nephew Felix is six."),
        ("¿Qué deporte hace la hija de mi hermana?", "Mi sobrina juega al waterpolo."),
        ("我妈妈的妈妈住在哪里", "我外婆住在苏州。"),
    ],
)
async def test_a_relative_named_by_two_others_is_found_by_the_word_for_it(
    model: E5Embedder, question: str, answer: str
) -> None:
    texts = (answer, "My sister plays the oboe.", "My father has a boat in Ystad.")
    assert (await _found(model, question, texts))[:1] == [answer]


@pytest.mark.parametrize(
    ("question", "own", "other"),
    [
        ("What is my son called?", "My son is called Otto.", "The boat is called Sea Lark."),
        ("Wie heißt unser Hund?", "Unser Hund heißt Strolch.", "Unsere Katze heißt Mimi."),
        ("Where does Rosa live?", "Rosa lives in Ghent.", "My uncle Bill lives in Perth."),
    ],
)
async def test_what_is_told_of_one_being_is_no_answer_about_another(question: str, own: str, other: str) -> None:
    model = E5WithEncoderEmbedder.from_package()
    assert await _found(model, question, (other,)) == []
    assert (await _found(model, question, (other, own)))[:1] == [own]


@pytest.mark.parametrize(
    ("question", "home", "plan"),
    [
        ("¿Dónde vivo?", "Vivimos en un piso de Carabanchel.", "Quizá el año que viene nos vamos a vivir a Gijón."),
        ("どこに住んでいますか", "横浜のマンションに住んでいます。", "いつかは北海道に住みたいと思っています。"),
        ("Where do I live?", "I live in Cork.", "We might live in Galway next year."),
    ],
)
async def test_a_plan_comes_after_what_holds_now(question: str, home: str, plan: str) -> None:
    model = E5WithEncoderEmbedder.from_package()
    index = await remembered((home, plan), 0, model)
    hits = await index.search(await analyze_query(index, model, question), SearchRequest())
    assert home in hits[0].text


@pytest.mark.parametrize(
    ("question", "answer", "asked_once"),
    [
        ("what car do i own", "user: we have a Yaris as our family car", "user: is a bicycle or a car better?"),
        (
            "welches handy benutze ich",
            "user: ich nehm weiter mein altes Fairphone",
            "user: welches handy hat die beste kamera?",
        ),
        ("qué coche tenemos", "user: nos quedamos con el Seat de mi cuñado", "user: ¿es mejor alquilar un coche?"),
    ],
)
async def test_a_question_that_was_asked_once_comes_after_an_answer(
    question: str, answer: str, asked_once: str
) -> None:
    model = E5WithEncoderEmbedder.from_package()
    assert (await _found(model, question, (asked_once, answer))) == [answer, asked_once]
    assert (await _found(model, asked_once.removeprefix("user: "), (asked_once, answer)))[0] == asked_once


TIMES = (
    "I drive a beat-up 2009 Corolla",
    "Anna and I are getting married in June next year",
    "I quit smoking 3 years ago",
    "Mi vuelo a Bogotá sale el jueves a las 6:40",
)


@pytest.mark.parametrize("question", ["When am I flying to Colombia?", "Wann fliege ich nach Kolumbien?"])
async def test_a_time_lifts_nothing_above_what_answers(model: E5Embedder, question: str) -> None:
    assert (await _found(model, question, TIMES))[0] == TIMES[3]


@pytest.mark.parametrize(
    ("question", "unrelated"),
    [
        ("When do I start my new job?", "I can't do gluten since last spring"),
        ("¿Cuándo es el cumpleaños de mi madre?", "Lucía empieza segundo en septiembre."),
        ("When is my dentist appointment?", "Paul visited us last week."),
    ],
)
async def test_a_time_makes_no_sure_answer_of_what_is_about_something_else(
    model: E5Embedder, question: str, unrelated: str
) -> None:
    index = await build_text_index([unrelated, "I take the tram to work.", "My sister lives in Graz."], model)
    hits = await index.search(await analyze_query(index, model, question), SearchRequest(threshold=0.0))
    assert next(hit.similarity for hit in hits if hit.text == unrelated) < 0.7


async def test_a_time_makes_no_answer_of_what_is_none(model: E5Embedder) -> None:
    texts = ["Paul visited us last week.", "My sister lives in Graz."]
    assert await _found(model, "When do I start my new job?", texts) == []


@pytest.mark.parametrize(
    ("question", "before", "after"),
    [
        ("Wo wohne ich?", "Ich wohne in Hamburg.", "Ich bin nach Wien gezogen."),
        ("¿Dónde vivo?", "Vivo en Hamburgo.", "Me mudé a Viena."),
        ("Where do I live?", "I live in Hamburg.", "I moved to Vienna."),
        ("where do I live", "We live in Denver with the kids", "Moved back to Omaha in the end, closer to my folks"),
    ],
)
async def test_what_was_said_later_comes_first_and_the_older_stays(
    model: E5Embedder, question: str, before: str, after: str
) -> None:
    assert await _found(model, question, (before, after), ("2025-01-01", "2026-01-01")) == [after, before]


@pytest.mark.parametrize(
    ("question", "own", "relative"),
    [
        ("Where do I live?", "I live in Graz.", "My sister has moved to Lyon."),
        ("Wo wohne ich?", "Ich wohne in Graz.", "Meine Schwester ist nach Lyon gezogen."),
        ("What can't I eat?", "I am allergic to nuts.", "My father can't eat fish."),
        (
            "Quand est mon anniversaire ?",
            "Mon anniversaire est en mai.",
            "L'anniversaire de ma femme est le trois juin.",
        ),
        ("我住在哪里", "我住在格拉茨。", "我姐姐搬到里昂了。"),
    ],
)
async def test_what_a_relative_does_comes_after_what_the_asker_does(
    model: E5Embedder, question: str, own: str, relative: str
) -> None:
    assert (await _found(model, question, (own, relative), ("2025-01-01", "2026-01-01")))[0] == own


async def test_who_else_is_asked_for_may_be_a_relative(model: E5Embedder) -> None:
    texts = ("My daughter Susan calls every Sunday at 5.", "Every Wednesday I play bridge with Harold.")
    assert (await _found(model, "Who calls me on Sundays?", texts, ("2025-01-01", "2026-01-01")))[0] == texts[0]


async def test_of_several_later_statements_the_newest_about_the_same_comes_first(model: E5Embedder) -> None:
    texts = (
        "Ich wohne in Hamburg.",
        "Ich bin nach Wien gezogen.",
        "Ich bin nach Graz umgezogen.",
        "Ich fahre jetzt Bahn.",
    )
    found = await _found(model, "Wo wohne ich?", texts, ("2023-01-01", "2024-01-01", "2025-01-01", "2026-01-01"))
    assert found[0] == texts[2]


async def test_a_later_statement_that_hardly_answers_is_not_taken_for_the_newest(model: E5Embedder) -> None:
    texts = ("I live in Graz.", "My sister moved to Lyon in May.", "I moved to Vienna.", "I take the train now.")
    found = await _found(model, "Wo wohne ich?", texts, ("2023-01-01", "2024-01-01", "2025-01-01", "2026-01-01"))
    assert found[0] == texts[2]


PLAN = "User: I signed up for the Brighton half marathon in April!\nAssistant: Have you a plan?\nUser: Yes, with Dana."
CANCELLED = "User: My knee is bad, no running till summer.\nAssistant: Oh no!\nUser: I had to cancel the half marathon."


@pytest.mark.parametrize("question", ["Am I running in April?", "Which race am I running?"])
async def test_of_two_conversations_the_one_that_holds_now_comes_first(model: E5Embedder, question: str) -> None:
    index = await remembered([PLAN, "User: I love thai food.\nAssistant: Noted!", CANCELLED], 0, model)
    hits = await index.search(await analyze_query(index, model, question), SearchRequest(kinds=("chunk",)))
    assert [hit.text for hit in hits][:2] == [CANCELLED, PLAN]


async def test_what_was_said_later_of_something_else_stays_below(model: E5Embedder) -> None:
    question, right = "Hoe goed zie ik?", "Zonder bril kan ik niet eens een menukaart lezen."
    later = "Ik drink mijn koffie zwart, zonder suiker."
    texts = (right, later, *FACTS)
    dates = ("2025-01-01", "2026-01-01", *["2024-01-01"] * len(FACTS))
    found = await _found(model, question, texts, dates)
    assert later not in found[: found.index(right)]


async def test_statements_are_not_about_the_same_because_they_are_in_one_language(model: E5Embedder) -> None:
    texts = (
        "치과 의사가 목요일 여덟 시 반에 봐 주기로 했어요.",
        "마르코는 시립 오케스트라에서 첼로를 켜요.",
        "우리 딸은 3월 3일에 태어났어요.",
        "저는 아홉 시 전에 일어나는 게 정말 싫어요.",
        "땅콩을 먹으면 아들의 목이 부어요.",
    )
    dates = [f"2025-01-0{at + 1}" for at in range(len(texts))]
    assert (await _found(model, "내 이 진료 예약은 언제지?", texts, dates))[0] == texts[0]


@pytest.mark.parametrize("options", [{"rerank": "order"}, {"rewriteQuery": True}])
async def test_reranking_and_rewriting_compare_words_by_meaning(
    model: E5Embedder, options: Mapping[str, object]
) -> None:
    index = await build_text_index(("The movie in the cinema was too long.", "The bread in the shop was good."), model)
    context = SearchContext("s#0", date(2026, 1, 1), explain=True)
    bodies = [
        SearchBody.model_validate({"query": "long film", "threshold": 0, **more})
        for more in (dict[str, object](), options)
    ]
    plain, again = [(await search_index(index, SearchModels(model), body, context)).hits[0] for body in bodies]
    assert again.text.startswith("The movie")
    explained, before = again.explanation or {}, plain.explanation or {}
    assert explained.get("wordSimilarity", 0.0) > 1.0 or explained["bm25"] > before["bm25"]


async def test_while_the_embedder_is_away_words_find_what_is_there(
    model: E5Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = await build_text_index(FACTS, model)

    async def refuse(text: str, term_weight: object = None) -> Vector:
        raise OutageError("nobody answers")

    monkeypatch.setattr(model, "embed_query", refuse)
    hits = await index.search(
        await analyze_query(index, model, "Who bought a Pixel?", words_suffice=True), SearchRequest()
    )
    assert hits[0].text == FACTS[1]
    with pytest.raises(OutageError):
        await analyze_query(index, model, "Who bought a Pixel?")


async def test_a_question_waits_for_a_model_that_is_still_being_loaded(
    model: E5Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = await build_text_index(FACTS, model)
    loaded, embed = asyncio.Event(), model.embed_query

    async def embed_once_loaded(text: str, term_weight: Callable[[str], float] | None = None) -> Vector:
        await loaded.wait()
        return await embed(text, term_weight)

    monkeypatch.setattr(model, "embed_query", embed_once_loaded)
    asked = asyncio.ensure_future(analyze_query(index, model, "Who bought a Pixel?", words_suffice=True))
    await asyncio.sleep(0)
    loop, minute_later = asyncio.get_running_loop(), asyncio.get_running_loop().time() + 60
    with monkeypatch.context() as patch:
        patch.setattr(loop, "time", lambda: minute_later)
        for _ in range(3):
            await asyncio.sleep(0)
    assert not asked.done()
    loaded.set()
    assert (await asked).vector.any()


RERANKED = SearchContext("s#0", date(2026, 1, 1))


async def test_reranking_keeps_what_holds_now_before_what_has_the_words_of_the_question(model: E5Embedder) -> None:
    texts = ("I live in Hamburg.", "I moved to Vienna.")
    index = await build_text_index(texts, model, [("0", "2025-01-01"), ("1", "2026-01-01")])
    body = SearchBody(query="Where do I live?", rerank="order")
    found = (await search_index(index, SearchModels(model), body, RERANKED)).hits
    assert [hit.text for hit in found] == [*reversed(texts)]


@pytest.mark.parametrize(
    ("question", "text"),
    [("What is my sister's phone number?", NUMBERS[0]), ("How do I compile a Linux kernel?", FACTS[0])],
)
async def test_reranking_makes_no_answer_of_what_is_none(model: E5Embedder, question: str, text: str) -> None:
    index = await build_text_index((text,), model)
    body = SearchBody(query=question, rerank="order")
    assert (await search_index(index, SearchModels(model), body, RERANKED)).hits == []


COPIED = (
    "Rechnung INV-20391 über 1.840 Euro ging am Montag an das Hotel Alpenblick, zahlbar in dreißig Tagen ohne Abzug.",
    "The courier lost the parcel twice, so Vermeulen asked for a new label and a refund of the postage.",
    "Error E1042 came up again on the second coffee machine after the filter was changed.",
    "The invoice for the coffee machines is due at the end of the month, the one for the hotel was paid.",
    "Guests of the hotel asked whether the sauna opens earlier on Sundays; the answer is no until spring.",
)


@pytest.mark.parametrize("frame", ["{}", "what about {}?", "Tell me about {}", "Was weißt du über {}?"])
@pytest.mark.parametrize(("looked_for", "answer"), [("INV-20391", 0), ("Vermeulen", 1), ("E1042", 2), ("sauna", 4)])
async def test_a_code_or_name_of_one_text_finds_it_first(
    model: E5Embedder, frame: str, looked_for: str, answer: int
) -> None:
    assert (await _found(model, frame.format(looked_for), COPIED))[:1] == [COPIED[answer]]


LIFE = (
    "My sister Ana lives in Porto.",
    "I'm allergic to peanuts.",
    "Mark and I got married in 2016.",
    "I play the cello in an orchestra.",
    "My mother moved into a nursing home.",
    "The parcel arrives on Thursday.",
)


async def _search(index: NamespaceIndex, model: Embedder, question: str) -> list[Hit]:
    return await index.search(await analyze_query(index, model, question), SearchRequest(explain=True))


@pytest.mark.parametrize("question", ["user's family", "Familie", "ma famille", "what do you know about my family?"])
async def test_a_question_that_names_a_topic_finds_all_that_tells_of_it(model: E5Embedder, question: str) -> None:
    hits = await _search(await remembered(LIFE, 0, model), model, question)
    assert {hit.document.id for hit in hits} == {"0", "2", "4"}


async def test_an_explanation_says_what_the_topic_adds(model: E5Embedder) -> None:
    hits = await _search(await remembered(LIFE, 0, model), model, "user's family")
    assert hits
    for hit in hits:
        assert hit.explanation is not None
        assert hit.explanation["topic"] > 0.0
        assert sum(hit.explanation.values()) == pytest.approx(hit.raw_score, abs=1e-3)


@pytest.mark.parametrize("question", ["my sister's birthday", "What is my dog called?", "work email"])
async def test_a_question_for_one_thing_names_no_topic(model: E5Embedder, question: str) -> None:
    assert (await analyze_query(await remembered(LIFE, 0, model), model, question)).topic is None


async def test_where_nothing_tells_of_the_user_a_heading_names_no_topic(model: E5Embedder) -> None:
    assert (await analyze_query(await build_text_index(LIFE, model), model, "Family")).topic is None


async def test_a_description_of_what_to_forget_names_no_topic(model: E5Embedder) -> None:
    index = await remembered(LIFE, 0, model)
    assert (await analyze_query(index, model, "user's family", keeps_names=True)).topic is None
