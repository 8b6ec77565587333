"""`python -m bench.life_topics`: learn anew which topic of somebody's life a question names, and what tells of it.

Writes `e5_life_topics.npy` and `e5_with_encoder_life_topics.npy` in `pipeline/index/ranking/learned` from
`bench.datasets.life_topics`, as `bench.answer_kinds` does for kinds of answers. Questions for one thing are also those
of the open halves of other sets.
"""

from collections.abc import Iterator

import numpy as np

from bench.answer_kinds import compound_texts, learn
from bench.datasets.answer_kinds import answer_kinds
from bench.datasets.answered import answered_statements, other_questions
from bench.datasets.asked_by_name import named_people
from bench.datasets.broad_questions import specific_questions
from bench.datasets.life_topics import topic_questions, topic_statements
from bench.datasets.near_questions import PARTS as NEAR_PARTS
from bench.datasets.near_questions import near_questions
from bench.datasets.paraphrases import LANGUAGES, MORE_LANGUAGES, paraphrases
from bench.datasets.worlds import PARTS, worlds
from bench.learned_files import common_part_of, learn_files
from pipeline.index.asker_name import asked_about_user
from pipeline.index.ranking.calibration import learned_file
from pipeline.index.ranking.learned.life_topics import TOPICS
from pipeline.memory.formation.rule_based_extraction import extract_facts
from pipeline.ports import Embedder

_QUESTION_RIDGE, _STATEMENT_RIDGE = 0.3, 3.0


def main() -> None:
    """Write the files."""
    learn_files(_learn_file)


async def _learn_file(embedder: Embedder) -> None:
    common = common_part_of(embedder)
    asked = [(_as_asked(text), _numbers(topics)) for text, topics in topic_questions()]
    of_topics = {text for text, _ in asked}
    asked += [(text, set()) for text in dict.fromkeys(map(_as_asked, _specific_questions())) if text not in of_topics]
    questions = np.stack([common.query_direction(await embedder.embed_query(text)) for text, _ in asked])
    told = [(text, _numbers(topics)) for text, topics in topic_statements()]
    memories = [(fact.text, topics) for text, topics in told for fact in extract_facts(text)]
    told += [*compound_texts(told), *memories]
    statements = common.directions_of(np.stack(await embedder.embed_documents([text for text, _ in told])))
    learned = [
        learn(questions, [topics for _, topics in asked], len(TOPICS), _QUESTION_RIDGE),
        learn(statements, [topics for _, topics in told], len(TOPICS), _STATEMENT_RIDGE),
    ]
    path = learned_file(embedder.name, "life_topics")
    np.save(path, np.stack(learned).astype(np.float16))
    print(f"{path}: {len(asked)} questions, {len(told)} statements")


def _numbers(topics: frozenset[str]) -> set[int]:
    return {TOPICS.index(topic) for topic in topics}


def _as_asked(question: str) -> str:
    asked = asked_about_user(question, reads_pronouns=True)
    return question if asked is None else asked.text


def _specific_questions() -> Iterator[str]:
    yield from (question for questions, _ in answer_kinds() for question in questions)
    yield from (question for _, questions in answered_statements() for question in questions)
    yield from other_questions()
    yield from specific_questions(locked=False)
    yield from (question for person in named_people(locked=False) for question, _ in person.questions)
    for language in (*LANGUAGES, *MORE_LANGUAGES):
        half = paraphrases(language, locked=False)
        yield from (texts[-1] for texts in (*half.facts, *half.updates, *half.others))
        yield from half.foreign
    for part in PARTS:
        for world in worlds(locked=False, part=part):
            yield from (question for question, _ in world.answered)
            yield from (question for question, _, _ in world.replaced)
            yield from (*world.near, *world.foreign)
    for near_part in NEAR_PARTS:
        for near in near_questions(locked=False, part=near_part):
            yield from (*(question for question, _ in near.answered), *near.unanswered)


if __name__ == "__main__":
    main()
