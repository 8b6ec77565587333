"""Clauses in the third person: `I live in Berlin` by Ann becomes `Ann lives in Berlin`. Pure."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.memory.grammar.clauses import OTHERS, SUBJECTS, Clause, auxiliaries, has_object, is_first
from pipeline.memory.grammar.speaker_context import DEFAULT_SPEAKER
from pipeline.memory.grammar.worth.telling_words import is_own_kin, is_user
from pipeline.text.english_nouns import PARENTS
from pipeline.text.english_verbs import third_person, word_set

if TYPE_CHECKING:
    from spacy.tokens import Token

_NOMINATIVE = frozenset({"i", "we"})
_POSSESSIVE = frozenset({"my", "our"})
_AGREED = {
    "'m": "is", "am": "is", "'re": "is", "are": "is", "were": "was", "'ve": "has", "have": "has", "do": "does",
    "'ll": "will", "\u2019m": "is",
}  # fmt: skip
_FILLERS = word_set("even definitely totally actually honestly literally basically absolutely truly then")
_PLURAL = frozenset({"we", "us", "our", "ours", "ourselves"})
_SHARES = frozenset({"all", "both", "half"})
"""What stands before `my` but not before a name: `both of Ann's cats`."""
_SIBLINGS = frozenset({"sis", "sister", "bro", "brother"})
"""Who is called so by the user has the same parents."""
_POINTING = frozenset({"this", "that", "these", "those"})
_TIMES = word_set(
    "morning afternoon evening night day week weekend month year summer winter spring autumn fall season term semester "
    "quarter sprint shift"
)
_NAMED_AS = frozenset({*SUBJECTS, "poss", "conj"})
"""Roles of `the user` in a clause that says something of them."""
_SPACES = re.compile(r"\s+")
_BEFORE_MARK = re.compile(r" (?=[,;:!?])")


@dataclass(frozen=True, slots=True)
class Referents:
    """Names that replace pronouns: the speaker's for the first person, `other` for he, she and they, `group` for we.

    `addressee`: whose `your brother` is. `is_speech`: `the kids` are the speaker's, unlike in a page.
    """

    speaker: str
    other: str | None = None
    group: str | None = None
    addressee: str | None = None
    is_speech: bool = True


def render_clause(clause: Clause, referents: Referents) -> str:
    """Return a clause as a statement that stands alone, a time that comes first moved to its end."""
    replaced: dict[int, str] = {}
    subject_tokens = list(clause.subject.subtree) if clause.is_shared else []
    every = [*subject_tokens, *clause.tokens]
    is_speaker = is_first(clause.subject)
    for token in every:
        word = _replacement(token, clause, referents, is_speaker=is_speaker)
        if word is not None:
            replaced[token.i] = word
        if word is not None and token.lower_ in ("he", "she", "they") and token.i + 1 < len(token.doc):
            replaced.update(_expanded(token.nbor()))
        is_user_meant = token.lower_ == "they" and referents.other == DEFAULT_SPEAKER
        if (token.lower_ in _NOMINATIVE or is_user_meant) and token.dep_ in SUBJECTS:
            replaced.update(_agreeing(token, clause))
            replaced.update(_one_of_them(token, clause, referents))
    fronted = [] if clause.is_shared else _fronted_time(clause)
    rest = [token for token in clause.tokens if token.i not in {moved.i for moved in fronted}]
    while rest and ((rest[0].is_punct and rest[0].text not in ("(", '"', "'", "$")) or rest[0].dep_ == "cc"):
        rest.pop(0)
    text = _join([*subject_tokens, *rest], replaced)
    if fronted:
        time = _join(fronted, replaced).strip(" ,")
        is_name = fronted[0].tag_ in ("NNP", "NNPS")
        text = f"{text} {time if is_name else time[:1].lower() + time[1:]}"
    # `no fish and I've only got …`: what is joined to the speaker hides them from the verb.
    text = text.replace(f"{referents.speaker}'ve ", f"{referents.speaker} has ")
    text = _SPACES.sub(" ", text).strip(" ,;:-\u2013\u2014.!\u2026")
    return text[:1].upper() + text[1:]


def _join(tokens: "list[Token]", replaced: dict[int, str]) -> str:
    parts: list[str] = []
    for at, token in enumerate(tokens):
        word = replaced.get(token.i, token.text)
        attached = token.text.startswith(("'", "\u2019")) and token.i in replaced and not word.startswith("'")
        if attached and parts and not parts[-1].endswith(" "):
            parts.append(" ")
        is_gap = at + 1 < len(tokens) and tokens[at + 1].i != token.i + 1
        parts.append(word + (token.whitespace_ or (" " if is_gap else "")))
    return _BEFORE_MARK.sub("", _SPACES.sub(" ", "".join(parts)))


def _replacement(token: "Token", clause: Clause, referents: Referents, *, is_speaker: bool) -> str | None:
    word = token.lower_
    if token.dep_ == "advmod" and (word in _FILLERS or (word == "also" and not _holds_beside(clause.head))):
        return ""
    if (named := _own_kin(token, referents) or _user_by_name(token, clause, referents)) is not None:
        return named
    if word == "your" and referents.addressee is not None:
        return f"{referents.addressee}'s"
    if word in _SHARES and token.i + 1 < len(token.doc) and token.nbor().lower_ in _POSSESSIVE:
        return f"{token.text} of"
    if word in _POINTING and token.dep_ == "det" and not token.ent_type_ and not _is_time(token.head):
        return _article(word, token)
    if is_first(token):
        name = referents.group if referents.group is not None and word in _PLURAL else referents.speaker
        return _first_person(token, word, clause, name, is_speaker=is_speaker)
    if word in OTHERS and referents.other is not None:
        owned = f"{referents.speaker}'s "
        other = referents.other
        if is_speaker and token is not clause.subject and other.startswith(owned):
            other = f"their {other.removeprefix(owned)}"
        if word in ("his", "their") or (word == "her" and (token.tag_ == "PRP$" or token.dep_ == "poss")):
            return f"{other}'s"
        return other
    return _proper(token)


def _is_time(noun: "Token") -> bool:
    """Return whether `this` before a noun is no article: a date that was told, and `this morning` where it was not."""
    return bool(noun.ent_type_) or noun.lemma_.lower() in _TIMES


def _holds_beside(verb: "Token") -> bool:
    """Return whether `also` says that something holds beside what was said: `also works`, not `also left`."""
    is_present = verb.tag_ in ("VBZ", "VBP", "VBG", "VB") and verb.lemma_ not in _ENDING
    return is_present and not any(child.dep_ == "neg" or child.tag_ == "VBD" for child in verb.children)


_ENDING = frozenset({"quit", "stop", "end", "cancel", "leave", "sell", "drop", "lose", "cut", "let", "put"})


def _own_kin(token: "Token", referents: Referents) -> str | None:
    """Return `Ann's mum` for `mum`, and `Ann's` for the article of `the kids`; parents do not speak of their own so."""
    if not referents.is_speech or not PARENTS.isdisjoint(referents.speaker.lower().split()):
        return None
    if token.lower_ in PARENTS and is_own_kin(token) and token.dep_ in (*SUBJECTS, "poss"):
        owner = "User" if referents.speaker.lower() in _SIBLINGS else referents.speaker
        return f"{owner}'s {token.lower_}"
    return (
        f"{referents.speaker}'s"
        if token.lower_ == "the" and token.head.dep_ in SUBJECTS and is_own_kin(token.head)
        else None
    )


def _user_by_name(token: "Token", clause: Clause, referents: Referents) -> str | None:
    """Return `User` for `the user`, and nothing for the article, in what an assistant notes of its user."""
    noun = token.head if token.lower_ == "the" else token
    is_noted = referents.is_speech and referents.speaker == DEFAULT_SPEAKER
    if not (is_noted and is_user(noun) and noun.dep_ in _NAMED_AS and noun in clause.subject.subtree):
        return None
    if any(map(is_first, (*clause.subject.subtree, *clause.tokens))):
        return None  # `I` is another one than `the user`
    return DEFAULT_SPEAKER if token is noun else ""


def _proper(token: "Token") -> str | None:
    """Return a name that was written small with its capital: `riga`."""
    is_name = (token.ent_type_ in _NAMED and not _is_a_kind(token)) or (
        token.ent_type_ == "DATE" and token.tag_ == "NNP"
    )
    return (
        token.text[:1].upper() + token.text[1:]
        if is_name and token.is_lower and token.is_alpha and token.tag_ in _NOUNS
        else None
    )


def _is_a_kind(token: "Token") -> bool:
    """Return whether a word in small letters is a thing or a bound: `a statin`, `on meloxicam`, `1400 max`."""
    is_bound = token.lower_ == "max" and any(part.like_num for part in token.doc[max(0, token.i - 2) : token.i])
    return is_bound or token.head.lower_ == "on" or any(child.dep_ in ("det", "poss") for child in token.children)


_NAMED = frozenset({"GPE", "PERSON", "NORP", "LANGUAGE", "LOC"})
_NOUNS = frozenset({"NNP", "NNPS", "JJ", "NN"})


def _article(word: str, token: "Token") -> str:
    """Return the article for what the speaker points at: a reader sees nothing."""
    if word in ("these", "those"):
        return word if token.head.lower_ == "days" else ""  # `is with Theo these days`
    if token.head.lower_ == "time" or (word == "that" and token.head.tag_ in ("NNS", "NNPS")):
        return word  # `decided that keys live two days`
    following = token.nbor().lower_ if token.i + 1 < len(token.doc) else ""
    return "the" if word == "that" else "an" if following[:1] in "aeiou" else "a"


def _first_person(token: "Token", word: str, clause: Clause, name: str, *, is_speaker: bool) -> str:
    is_mentioned = is_speaker and token is not clause.subject and not token.head.is_ancestor(clause.subject)
    if word in _POSSESSIVE:
        follows_name = any(part.lower_ in ("i", "me", "we") for part in clause.subject.subtree if part.i < token.i)
        return "their" if is_mentioned or follows_name else f"{name}'s"
    if word in ("myself", "ourselves"):
        return "themselves"
    if word in ("mine", "ours"):
        if token.head.lower_ == "at":
            return f"{name}'s place"
        return "theirs" if is_mentioned else f"{name}'s"
    if word in ("me", "us"):
        return "them" if is_mentioned and token.dep_ not in SUBJECTS else name
    return name


def _expanded(clitic: "Token") -> dict[int, str]:
    """Return the full form of a verb that leaned on a pronoun: `she's` becomes `Ana is`."""
    word = clitic.lower_.replace("\u2019", "'")
    if not word.startswith("'"):
        return {}
    verb = clitic.head if clitic.dep_ in ("aux", "auxpass") else clitic
    if word == "'s":
        is_participle = verb.tag_ == "VBN" and (clitic.dep_ == "aux" or has_object(verb))
        is_perfect = is_participle or clitic.nbor().lower_ in ("been", "got")
        return {clitic.i: "has" if is_perfect else "is"}
    if word == "'d":
        return {clitic.i: "had" if verb.tag_ == "VBN" else "would"}
    return {clitic.i: {"'ll": "will", "'ve": "has", "'re": "is"}.get(word, word)}


def _agreeing(subject: "Token", clause: Clause) -> dict[int, str]:
    """Return the form of the verb that follows a name instead of `I`; a coordinated subject keeps its verb."""
    verb = clause.head if subject is clause.subject else subject.head
    is_compound = verb.dep_ in SUBJECTS  # the parser takes `test` of `we test drove it` for the subject
    is_second = sum(child.dep_ in SUBJECTS for child in verb.children) > 1  # `Ines and I are moving in`
    if is_compound or is_second or any(child.dep_ == "conj" for child in subject.children):
        return {}
    agreed: dict[int, str] = {}
    helpers = auxiliaries(verb)
    # Of `I'm getting married` the parser hangs the first auxiliary on the second.
    finite = next(iter([*(first for helper in helpers for first in auxiliaries(helper)), *helpers]), verb)
    following = finite.nbor() if finite.i + 1 < len(finite.doc) else None
    word = finite.lower_
    if word in ("'d", "\u2019d"):
        agreed[finite.i] = "had" if verb.tag_ in ("VBN", "VBD") else "would"
    elif word in _AGREED:
        agreed[finite.i] = _AGREED[word]
    elif (
        finite.tag_ not in ("VBD", "VBN", "VBG", "VBZ", "MD")
        and word not in ("ca", "wo", "will", "can")
        and finite.dep_ != "xcomp"
    ):
        agreed[finite.i] = third_person(finite.text)
    if following is not None and following.lower_ in ("n't", "n\u2019t") and finite.i in agreed:
        agreed[following.i] = "n't"
    return agreed


def _one_of_them(subject: "Token", clause: Clause, referents: Referents) -> dict[int, str]:
    """Return for what `we` are what one of them is: `we're vegetarians` becomes `Ann is a vegetarian`."""
    complement = next((child for child in clause.head.children if child.dep_ == "attr" and child.tag_ == "NNS"), None)
    if subject.lower_ != "we" or referents.group is not None or complement is None:
        return {}
    if complement.lemma_ == complement.text or any(part.dep_ in _COUNTING for part in complement.children):
        return {}
    first = complement.left_edge
    one = {complement.i: complement.lemma_}
    article = "an" if one.get(first.i, first.lower_)[0] in "aeiou" else "a"
    return one | {first.i: f"{article} {one.get(first.i, first.text)}"}


_COUNTING = frozenset({"det", "poss", "nummod", "conj", "predet", "neg"})


_PRESENT = frozenset({"now", "nowadays", "currently", "lately", "instead", "today"})


def _fronted_time(clause: Clause) -> "list[Token]":
    """Return the words of a time that comes before the subject."""
    for child in clause.head.children:
        if child.i >= clause.subject.left_edge.i or child.dep_ not in ("npadvmod", "prep", "advmod"):
            continue
        words = list(child.subtree)
        dated = [word for word in words if word.ent_type_ in ("DATE", "TIME")]
        if words[0].i == clause.tokens[0].i and (
            len(dated) * 2 >= len(words) or (len(words) < 5 and not _PRESENT.isdisjoint(word.lower_ for word in words))
        ):
            return [word for word in words if not word.is_punct]
    return []
