"""Stems of words of other languages than English: what other forms of a word share. Pure."""

import re
from collections.abc import Iterator
from itertools import pairwise

from pipeline.memory.languages.profiles import words_of_all
from pipeline.text.analyzer import content_words, words
from pipeline.text.statement_words import weekdays

UNSPACED = re.compile("[\u4e00-\u9fff]+|[\u30a0-\u30ff]+")
"""Runs of ideographs or of letters for foreign words, which say what a Chinese or Japanese text is about."""
_SHORT_NAME = re.compile(
    r"(?:(?<=[\w,] )|^(?=\w+ (?:und ich|et moi|y yo|ed? io|e eu|en ik|och jag|i ja)\b))[A-ZÀ-Ý][A-Za-zÀ-ÿ]{2}\b"
)
_HANGUL = re.compile("[\uac00-\ud7af]")
_SINGLE = re.compile("(?<![\u4e00-\u9fff])(?![私僕俺])[\u4e00-\u9fff](?=[はがをも])")
"""An ideograph that is a noun by itself, and not `I`: `猫を`."""
_COMPOUND = re.compile("[\u4e00-\u9fff\u30a0-\u30ff]+(?=[はがをもの])")
"""A Japanese noun before a particle, whose last letters say what it is: not Yokohama, but its marathon."""
_SPACED = re.compile("[^\u0e00-\u0eff\u3040-\u30ff\u4e00-\u9fff]+$")
"""A word of a script with spaces."""
_ARABIC_ARTICLE = re.compile(r"\b[وبفك]?ال(?=\w{3})|\bلل(?=\w{3})")
_WITHOUT_VOWELS = re.compile("[\u05d0-\u05ea\u0621-\u064a]")
"""A letter of Hebrew or Arabic, of which three make a word."""
_TYPE = re.compile(r"[a-z]\d{1,2}")
"""A letter with a number, which names a company, a bus line or a model: `o2`, `s5`."""
_LAST_VOWEL = re.compile(r"(?<=^\w{3})[aeiouy]$")
"""What a word of four letters may end in otherwise: `kávy`, `kávu`."""
_SHORT_WORD = 8
"""Letters of a word of which another form may share no more than four."""


def foreign_stems(text: str) -> Iterator[str]:
    """Yield words without what another form of them may end in, and of scripts without spaces pairs of letters.

    >>> list(foreign_stems("fumer")), list(foreign_stems("糖質はやめ")), list(foreign_stems("담배는"))
    (['fum'], ['糖質'], ['담배'])
    >>> list(foreign_stems("بعت الكورولا")), list(foreign_stems("vendi o Uno"))
    (['بعت', 'كورو'], ['uno', 'vend'])
    """
    yield from _SINGLE.findall(text)
    yield from short_names(text)
    for word in content_words(words(_ARABIC_ARTICLE.sub("", text))):
        if _HANGUL.match(word):
            yield from (word[:2],) if len(word) > 1 else ()
        elif UNSPACED.search(word):
            yield from (pair for run in UNSPACED.findall(word) for pair in map("".join, pairwise(run)))
        elif len(word) > 3:
            yield _LAST_VOWEL.sub("", word[:4]) if len(word) <= _SHORT_WORD else word[:6]
        elif word.isdigit() or _TYPE.fullmatch(word) or (len(word) > 2 and _WITHOUT_VOWELS.match(word)):
            yield word


def short_names(text: str) -> list[str]:
    """Return names of three letters, of which words have no stems."""
    return [name.lower() for name in _SHORT_NAME.findall(text)]


def named_stems(said: str) -> frozenset[str]:
    """Return the stems of what a statement names, which days of the week are not: they are figures."""
    named = (
        word for word in words_of_all("light").sub(" ", said).split() if not _SPACED.match(word) or not weekdays(word)
    )
    return frozenset(foreign_stems(" ".join(named)))


def without_names_of_compounds(said: str) -> str:
    """Return a text whose Japanese nouns have only their last letters: the marathon of `横浜マラソン`."""
    return _COMPOUND.sub(lambda noun: noun[0][-2:], said)
