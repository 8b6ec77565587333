"""English verbs as far as facts need them: which words are verbs, and how they agree with he or she."""

import re


def word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


BASES = word_set(
    "live work like love enjoy prefer hate dislike want need use own have go play study teach speak run walk ride "
    "drive cook bake read write paint draw sing dance swim hike climb travel visit volunteer collect grow keep raise "
    "train practice practise attend learn know understand believe plan intend hope try start begin finish stop quit "
    "leave join move switch change buy sell rent pay cost earn save spend eat drink avoid make build create design "
    "develop lead manage coach mentor help support serve belong come stay sleep wake meet see watch listen take get "
    "give bring call date share host organize organise celebrate miss care focus commute wear carry follow identify "
    "remember tend adopt consider do say tell think feel look find become"
)
"""Present forms that follow I, we and they."""

PASTS = word_set(
    "was were had did went got bought made took saw met found left felt said told thought knew became began grew ran "
    "won lost spent built wrote taught came gave kept held brought caught chose drove ate fell flew forgot heard led "
    "lent meant paid rode sang sat slept sold sent showed spoke stood swam threw understood wore woke drew read set "
    "put quit cut hit broke hung sought fought bit dug shot froze stole swore tore struck dealt fed fled laid learnt "
    "rewrote rebuilt redid outgrew overcame underwent withdrew"
)
MODALS = word_set("will can must shall cannot won't can't")
ADVERBS = word_set(
    "also always usually often sometimes never ever rarely still just really currently recently now already only "
    "mostly mainly actually finally absolutely definitely truly typically regularly soon both all even once officially "
    "secretly genuinely generally normally previously originally later then suddenly totally"
)
_BASE_ED = word_set("need feed speed breed embed seed weed exceed succeed proceed heed bleed shed wed")
_IRREGULAR = {"have": "has", "do": "does", "go": "goes", "am": "is", "are": "is", "'m": "is", "be": "is"}
_NEGATED = {"don't": "doesn't", "haven't": "hasn't", "aren't": "isn't", "weren't": "wasn't"}
_PREFIX = re.compile(r"^(?:re|mis|over|under|out)")
_HISSING = re.compile(r"(?:s|x|z|ch|sh|o)$")
_CONSONANT_Y = re.compile(r"[^aeiou]y$")


def is_past(word: str) -> bool:
    """Tell whether a word is a past form."""
    return word in PASTS or (word.endswith("ed") and word not in _BASE_ED and len(word) > 3)


def is_gerund(word: str) -> bool:
    """Return whether a word has the form of a gerund: a stem with a vowel before `ing`.

    >>> is_gerund("swimming"), is_gerund("string")
    (True, False)
    """
    return word.endswith("ing") and not VOWELS.isdisjoint(word[:-3])


VOWELS = frozenset("aeiouy")


def third_person(word: str) -> str:
    """The form that follows he or she; past forms and modals stay.

    >>> third_person("live"), third_person("study"), third_person("went"), third_person("retook"), third_person("don't")
    ('lives', 'studies', 'went', 'retook', "doesn't")
    """
    folded = word.lower()
    if folded in _IRREGULAR:
        return _IRREGULAR[folded]
    if folded in _NEGATED:
        return _NEGATED[folded]
    if folded == "were":
        return "was"
    if folded in MODALS or is_past(folded) or is_past(_PREFIX.sub("", folded)) or folded.endswith("n't"):
        return word
    if _CONSONANT_Y.search(folded):
        return f"{word[:-1]}ies"
    return f"{word}es" if _HISSING.search(folded) else f"{word}s"


_THIRD = frozenset(third_person(base) for base in BASES)
_OTHER_FINITE = word_set(
    "is are am was were has have had does did will can must shall won't can't cannot isn't aren't wasn't weren't "
    "doesn't didn't hasn't haven't hadn't requires includes supports provides returns contains allows runs means "
    "depends expires begins ends starts opens closes weighs lasts turns hires ships arrives launches reports handles "
    "accepts offers produces stores sends receives consists exists remains becomes seems"
)
_PAST_ONLY = PASTS - {"read", "set", "put", "cut", "hit", "quit"}


def is_third_person(word: str) -> bool:
    """Tell whether a word can follow he or she in the present tense."""
    return word in _THIRD or (word in _OTHER_FINITE and word.endswith("s") and word != "was")


def is_finite(word: str) -> bool:
    """Tell whether a word can be the verb of a third-person statement."""
    return word in _OTHER_FINITE or word in _THIRD or word in _PAST_ONLY or (is_past(word) and len(word) > 4)
