"""Texts from a seed: words of the installed packages' descriptions, by subject, with Zipf's frequencies."""

import random
import re
from itertools import accumulate

from bench.package_descriptions import package_descriptions

WORD = re.compile(r"[a-z]{3,14}")
SUBJECTS = 400
SUBJECT_WORDS = 40


class TextGenerator:
    """Writes about subjects. The same seed writes the same texts on the same installation."""

    def __init__(self, seed: int = 7) -> None:
        self._random = random.Random(seed)
        counts: dict[str, int] = {}
        for _, text in package_descriptions():
            for word in WORD.findall(text.lower()):
                counts[word] = counts.get(word, 0) + 1
        self._words = sorted(counts, key=lambda word: (-counts[word], word))
        self._weights = list(accumulate(1.0 / rank for rank in range(3, len(self._words) + 3)))
        rare = self._words[200:]
        self._subjects = [self._random.sample(rare, SUBJECT_WORDS) for _ in range(SUBJECTS)]

    def paragraph(self, characters: int, subject: int | None = None) -> str:
        """Sentences about a subject, `characters` long or a little less."""
        about = self._subjects[self._random.randrange(SUBJECTS) if subject is None else subject % SUBJECTS]
        sentences: list[str] = []
        length = 0
        while True:
            sentence = self._sentence(about)
            length += len(sentence) + 1
            if sentences and length > characters:
                return " ".join(sentences)
            sentences.append(sentence)

    def document(self, paragraphs: int, characters: int, subject: int) -> str:
        """Paragraphs about one subject."""
        return "\n\n".join(self.paragraph(characters, subject) for _ in range(paragraphs))

    def question(self, subject: int, words: int = 5) -> str:
        """Words that texts about the subject use."""
        return " ".join(self._random.sample(self._subjects[subject % SUBJECTS], words))

    def _sentence(self, about: list[str]) -> str:
        length = self._random.randint(7, 15)
        common = self._random.choices(self._words, cum_weights=self._weights, k=length - 3)
        words = common + self._random.choices(about, k=3)
        self._random.shuffle(words)
        return " ".join(words).capitalize() + "."
