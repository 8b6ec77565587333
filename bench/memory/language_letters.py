"""`python -m bench.memory.language_letters`: learn which letters tell a language, and write the file that does.

A softmax regression on words and the letters within them. It learns from sentences whose language is known, from parts
of them, from words of lists, and from what is typed without accents; of the collections that measure from open halves
only. `--check` tells how many locked lines of `bench/datasets/paraphrases` the file tells right.
"""

import argparse
import importlib
import random
import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import get_args

import numpy as np
from numpy.typing import NDArray
from stop_words import AVAILABLE_LANGUAGES, get_stop_words

from bench.datasets import language_letters, life_topics
from bench.datasets.broad_questions import people
from bench.datasets.paraphrases import LANGUAGES as PARAPHRASED
from bench.datasets.paraphrases import MORE_LANGUAGES, paraphrases
from bench.datasets.short_statements import StatementSet, short_statements
from bench.datasets.successions import successions
from pipeline.memory.languages.english import english_words
from pipeline.memory.languages.language_detection import (
    BUCKETS,
    LANGUAGES,
    LETTERS_FILE,
    STEP,
    detect_language,
    parts_of_word,
    weights_of_parts,
    words_of,
)
from pipeline.memory.languages.profiles import all_profiles
from pipeline.text.english_verbs import BASES

_SEED = 1
_ROUNDS = 4
_RATE = 0.15
_MAX_STEPS = 127
_SPANS = 3
"""Parts of each sentence that are learned beside it."""
_LISTS = 600
"""Bundles of words from the lists of each language."""
_SURE = 4.0
"""Log-odds from which the language of a line is told for sure."""
_LISTED_WORD = re.compile(r"(?<![\\\w\[])[^\W\d_]{2,}(?![\w\]*?+(\[])")
"""A whole word of a pattern."""
_ENGLISH_LISTS = ("common", "strong_verbs", "evaluations", "vague_objects", "traits", "empty_verbs")
_Labelled = list[tuple[str, str]]


def main() -> None:
    """Write the file, or tell how many lines it tells right."""
    options = argparse.ArgumentParser(prog="python -m bench.memory.language_letters", description=__doc__)
    options.add_argument("--check", action="store_true", help="tell how many locked lines are told right")
    if options.parse_args().check:
        _check()
        return
    sentences = list(_sentences())
    weights = _learned(sentences)
    sentences += _told_surely(weights)
    steps = np.round(_learned(sentences) / STEP)
    np.save(LETTERS_FILE, np.clip(steps, -_MAX_STEPS, _MAX_STEPS).astype(np.int8))


def _check() -> None:
    codes = {id(profile): code for code, profile in all_profiles().items()}
    print("| language | lines | right |\n|---|---:|---:|")
    for code in (*PARAPHRASED, *MORE_LANGUAGES):
        found = [detect_language(text) for text in _paraphrased(code, locked=True)]
        right = sum((codes[id(profile)] if profile else "en") == code for profile in found)
        print(f"| {code} | {len(found)} | {right} |")


def _sentences() -> Iterator[tuple[str, str]]:
    """Yield sentences with their languages."""
    for code in LANGUAGES:
        examples = importlib.import_module(f"spacy.lang.{code}.examples").sentences
        yield from ((text, code) for text in examples)
        if code in (*PARAPHRASED, *MORE_LANGUAGES):
            yield from ((text, code) for text in _paraphrased(code, locked=False))
    told = [*life_topics.told_in(), *language_letters.told_in()]
    told += [(said.text, person.language) for person in people(locked=False) for said in person.statements]
    told += [(asked, person.language) for person in people(locked=False) for asked, _ in person.questions]
    yield from ((text, code) for text, code in told if code in LANGUAGES)


def _paraphrased(code: str, *, locked: bool) -> list[str]:
    found = paraphrases(code, locked=locked)
    return [text for line in (*found.facts, *found.updates, *found.others) for text in line] + found.foreign


def _told_surely(weights: NDArray[np.float32]) -> _Labelled:
    """Return lines that people have typed, as they are told for sure by what was learned before."""
    sets = [name for name in get_args(StatementSet) if name.endswith("open")]
    lines = [line for name in sets for said in short_statements(name) for line in said.document.splitlines()]
    lines += [text for pair in chain.from_iterable(successions(hurried=True)) for text in (pair.older, pair.newer)]
    found: _Labelled = []
    for line in lines:
        buckets, counts = _row(line)
        odds = counts @ weights[buckets]
        surest, second = np.argsort(-odds)[:2]
        found += [(line, LANGUAGES[surest])] if odds[surest] - odds[second] > _SURE and _is_spelled(line) else []
    return found


def _is_spelled(line: str) -> bool:
    """Return whether a line is in Latin or Cyrillic letters."""
    return all(letter < "\u0370" or "\u0400" <= letter < "\u0530" for letter in line if letter.isalpha())


def _row(text: str) -> tuple[list[int], NDArray[np.float32]]:
    parts = [parts_of_word(word) for word in words_of(text)]
    counts = [weights_of_parts(len(buckets)) for buckets in parts]
    return [bucket for buckets in parts for bucket in buckets], np.concatenate([*counts, np.zeros(0, np.float32)])


def _examples(sentences: _Labelled, order: random.Random) -> Iterator[tuple[str, str, float]]:
    """Yield what is learned from, each with its language and what it counts."""
    for text, code in sentences:
        yield text, code, 1.0
        words = text.split()
        for _ in range(_SPANS if len(words) > _SPANS else 0):
            size = order.randint(2, min(6, len(words)))
            begin = order.randint(0, len(words) - size)
            yield " ".join(words[begin : begin + size]), code, 0.5
        if not (text.isascii() or code in ("vi", "ru", "uk")):
            yield "".join(letter for letter in unicodedata.normalize("NFD", text) if letter.isascii()), code, 0.5
    for code in LANGUAGES:
        listed = _listed_words(code)
        for _ in range(_LISTS):
            yield " ".join(order.choices(listed, k=order.randint(2, 4))), code, 0.5


def _listed_words(code: str) -> list[str]:
    """Return words of a language from lists: those without a topic, and those that its profile knows."""
    found = set(importlib.import_module(f"spacy.lang.{code}.stop_words").STOP_WORDS)
    found.update(get_stop_words(code) if code in AVAILABLE_LANGUAGES else ())
    if code == "en":
        found.update(BASES, *map(english_words, _ENGLISH_LISTS))
    else:
        profile = tomllib.loads((Path(LETTERS_FILE).parent / f"{code}.toml").read_text("utf-8"))
        lists = (entry for entries in profile.values() if isinstance(entries, list) for entry in entries)
        found.update(word for entry in lists if isinstance(entry, str) for word in _LISTED_WORD.findall(entry))
    return sorted(word.lower() for word in found if word.isalpha())


def _learned(sentences: _Labelled) -> NDArray[np.float32]:
    """Return the weights by Adagrad."""
    order = random.Random(_SEED)
    examples = list(_examples(sentences, order))
    known = Counter(code for _, code, _ in examples)
    rows = [
        (*_row(text), LANGUAGES.index(code), counts * min(2.0, (len(examples) / len(LANGUAGES) / known[code]) ** 0.5))
        for text, code, counts in examples
        if words_of(text)
    ]
    weights = np.zeros((BUCKETS, len(LANGUAGES)), np.float32)
    squares = np.full_like(weights, 1e-3)
    for _ in range(_ROUNDS):
        order.shuffle(rows)
        for buckets, counts, language, weight in rows:
            odds = counts @ weights[buckets]
            found = np.exp(odds - odds.max())
            found /= found.sum()
            found[language] -= 1
            slope = np.outer(counts, found * weight)
            squares[buckets] += slope * slope
            weights[buckets] -= _RATE * slope / np.sqrt(squares[buckets])
    return weights


if __name__ == "__main__":
    main()
