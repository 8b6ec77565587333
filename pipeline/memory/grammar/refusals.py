"""Clauses that can be no memory: questions, doubts, opinions, and what leaves something unnamed."""

from dataclasses import replace
from typing import TYPE_CHECKING

from pipeline.memory.grammar.clauses import OTHERS, Clause, auxiliaries, is_first, without_addition
from pipeline.memory.grammar.speaker_context import SpeakerContext
from pipeline.memory.grammar.worth.stated_records import OPINION_VERBS, UNNAMED_SUBJECTS
from pipeline.memory.grammar.worth.telling_words import HUMAN
from pipeline.memory.languages.english import english_words
from pipeline.text.english_nouns import KIN
from pipeline.text.english_verbs import word_set

if TYPE_CHECKING:
    from spacy.tokens import Token

MAX_WORDS = 40
_KNOWING = frozenset({"know", "understand", "see", "realise", "realize", "figure", "wonder", "remember"})
"""Verbs after which a question tells nothing: `I know why I was tired`."""
_DANGLING = word_set("it this that these those one ones here there them so such another both others same else either")
_ADDRESSING = word_set("you your yours yourself yourselves u ya ur y'all please")
_UNSURE = english_words("unsure")
_TEXTS = english_words("texts")
_EACH_OTHERS = english_words("each_others")
_COUNTED_PEOPLE = _EACH_OTHERS | word_set("adult person people kid child man woman guest guy girl boy student")
_TIMES = frozenset({"day", "week", "weekend", "month", "year", "hour"})
_OTHERS_PLACES = frozenset({"place", "stead"})
"""Whose one takes is somebody else's: `Ada was elected in her place`."""
_TRADING = frozenset({"buy", "sell", "order", "need", "want", "get"})
_MODALS = word_set("would could should might may must shall ought 'd")
_ALL_OTHERS = frozenset({"everyone", "everybody", "nobody"})


def refusal(clause: Clause, context: SpeakerContext, *, has_antecedent: bool) -> str | None:
    """Return why a clause can be no memory; None if it can."""
    said = (*clause.subject.subtree, *clause.tokens)
    theirs = clause.subject if context.addressee is not None else None  # `your brother`, where two talk
    words = {
        token.lower_
        for token in said
        if not ((token.dep_ == "advmod" and token.head.like_num) or is_addressees_kin(token, theirs))
    }
    spoken = sum(token.is_alpha or token.like_num for token in clause.tokens)
    if not 1 <= spoken <= MAX_WORDS:
        return "length"
    if _is_about_everybody(clause) or not words.isdisjoint(_ADDRESSING):
        return "addresses somebody"
    if _is_unsure(clause, words) and not (context.is_written and _rules(clause)):
        return "not said for sure"
    if _begins_question(clause) or _is_inverted(clause):
        return "a question"
    marks = (child for child in clause.head.children if child.dep_ == "mark" and child.lower_ not in ("so", "that"))
    if any(mark in clause.tokens for mark in marks):
        return "part of another sentence"
    if not _names_subject(clause, has_antecedent=has_antecedent):
        return "subject not named"
    if clause.subject.lower_ == "we" and (
        any(map(_counts_or_relates, clause.head.children)) or any(map(_is_reciprocal, clause.tokens))
    ):
        return "whom it counts or relates is not named"
    if _acts_on_itself(clause):
        return "an object left out"
    if (unnamed := dangling(clause, has_antecedent=has_antecedent)) is not None:
        return f"{unnamed.text!r} is not named"
    return "its writer is not named" if not context.is_speech and any(map(is_first, clause.tokens)) else None


def is_addressees_kin(token: "Token", subject: "Token | None") -> bool:
    """Return whether a word is the `your` of a subject that is a relative or friend: `your brother`."""
    is_owner = token.lower_ == "your" and token.head == subject
    return is_owner and subject is not None and subject.lemma_.lower() in KIN


def _is_reciprocal(token: "Token") -> bool:
    return token.i > 0 and (token.nbor(-1).lower_, token.lower_) in (("each", "other"), ("one", "another"))


def _counts_or_relates(complement: "Token") -> bool:
    """Return whether it says how many `we` are, or what to each other: `we're four now`, `we're best friends`."""
    if complement.dep_ == "attr" and any(child.dep_ == "nummod" for child in complement.children):
        return complement.lemma_.lower() in _COUNTED_PEOPLE  # `we're two adults and a baby`
    if complement.dep_ in ("attr", "acomp") and complement.like_num:
        return complement.n_lefts + complement.n_rights == 0
    return complement.dep_ == "attr" and complement.lemma_.lower() in _EACH_OTHERS and not any(complement.rights)


def _is_about_everybody(clause: Clause) -> bool:
    """Return whether `we all` means everybody."""
    return clause.subject.lower_ == "we" and any(
        token.lower_ in ("all", "both", "together") and token.i < clause.head.i + 2 for token in clause.tokens
    )


def _names_subject(clause: Clause, *, has_antecedent: bool) -> bool:
    subject = clause.subject
    if _is_counted(clause) or _is_part_of_own(subject):
        return True
    if subject.lower_ in UNNAMED_SUBJECTS or (subject.lower_ in OTHERS and not has_antecedent):
        return False
    if subject.lower_ in ("mine", "ours") or (
        subject.lemma_.lower() in _TEXTS and any(child.lower_ in ("this", "these") for child in subject.children)
    ):
        return False
    if subject.lower_ in ("me", "us", "him", "them") and not any(child.dep_ == "conj" for child in subject.children):
        return False
    if subject.lemma_.lower() in ("favorite", "favourite") and not any(
        child.dep_ in ("prep", "amod", "compound") for child in subject.children
    ):
        return False  # `my favorite is the banana split`: of what?
    return subject.tag_ not in ("DT", "WDT", "CD") and (subject.i < clause.head.i or subject.dep_ == "attr")


def _is_part_of_own(subject: "Token") -> bool:
    """Return whether a subject is some of the speaker's: `one of my cats`."""
    return any(
        child.lower_ == "of" and any(is_first(part) and part.tag_ == "PRP$" for part in child.subtree)
        for child in subject.children
    )


def _acts_on_itself(clause: Clause) -> bool:
    """Return whether a verb has the speaker of the one before for its subject and object: `took it, gave me a rash`."""
    # `my back is killing me` is an idiom.
    is_taken = (clause.is_shared and is_first(clause.subject)) or clause.head.lemma_ == "kill"
    return is_taken and any(child.lower_ in ("me", "us") for child in clause.head.children)


def _is_opinion(clause: Clause) -> bool:
    """Return whether a clause only tells what somebody thinks, wishes or heard of something."""
    head = clause.head
    told = [child for child in head.children if child.dep_ in ("ccomp", "advcl")]
    is_unsaid = head.lemma_.lower() in _KNOWING and any(child.left_edge.tag_ in ("WRB", "WP", "WDT") for child in told)
    return is_unsaid or (head.lemma_.lower() in OPINION_VERBS and bool(told))


def _is_unsure(clause: Clause, words: set[str]) -> bool:
    if "would" in words or "'d" in words:
        wish = clause.head.lemma_ in ("love", "like", "prefer", "rather") and not any(
            map(_is_asked, clause.head.children)
        )
        is_past = any(token.lower_ == "'d" and clause.head.tag_ in ("VBN", "VBD") for token in auxiliaries(clause.head))
        if (not wish or not is_first(clause.subject)) and not is_past:
            return True
    if not words.isdisjoint(_UNSURE - {"would", "should", "could"}) or any(
        token.tag_ == "MD" and token.lower_ == "may" for token in clause.tokens
    ):
        return True
    return any(
        token.lower_ in _MODALS and token.lower_ not in ("would", "'d", "may") for token in auxiliaries(clause.head)
    ) or _is_opinion(clause)


def _is_asked(act: "Token") -> bool:
    """Return whether a wish is what somebody asks of who listens: `I'd like to report a fault`."""
    return act.dep_ == "xcomp" and act.lemma_ in _REQUESTED


_REQUESTED = word_set(
    "report change order book cancel know ask request return speak apply confirm inform thank add say"
)


def without_doubt(clause: Clause) -> Clause:
    """Return a clause without the part that is doubted: `I'm walking the Camino, maybe with dad`."""
    doubt = next((token for token in clause.tokens if token.lower_ in _DOUBTS), None)
    if doubt is None:
        return clause
    if doubt.i > clause.head.i:
        shorter = without_addition(clause, doubt)
        is_choice = shorter is not None and shorter.tokens[-1].nbor().lower_ == "or"
        return clause if shorter is None or is_choice else shorter
    begin = next((at for at, token in enumerate(clause.tokens) if token == clause.subject.left_edge), 0)
    is_apart = begin > 1 and clause.tokens[begin - 1].text == "," and doubt == clause.tokens[0]
    return replace(clause, tokens=clause.tokens[begin:]) if is_apart else clause


def without_address(clause: Clause) -> Clause:
    """Return a clause without what says whom it is told of something named: `the post of cook that you advertised`."""
    told = next((token for token in clause.tokens if token.lower_ in _ADDRESSING), None)
    relative = next((above for above in told.ancestors if above.dep_ == "relcl"), None) if told is not None else None
    if relative is None or relative.head.i < clause.head.i:
        return clause
    is_named = any(child.dep_ in ("prep", "compound", "nummod") for child in relative.head.children)
    left_out = {part.i for part in relative.subtree}
    return (
        replace(clause, tokens=tuple(part for part in clause.tokens if part.i not in left_out)) if is_named else clause
    )


_DOUBTS = frozenset({"maybe", "perhaps", "probably", "possibly"})


def _rules(clause: Clause) -> bool:
    """Return whether a document says what must or may be done, and not what perhaps happens: `prices may rise`."""
    modals = {helper.lower_ for helper in auxiliaries(clause.head) if helper.tag_ == "MD"}
    others = {token.lower_ for token in clause.tokens} - modals
    if not others.isdisjoint(_UNSURE) or any(helper.lemma_ == "have" for helper in auxiliaries(clause.head)):
        return False
    is_bound = any(child.dep_ == "neg" or child.lower_ == "only" for child in clause.head.children)
    return modals <= {"must", "shall"} or (modals == {"may"} and (is_bound or _may_be_allowed(clause.subject)))


def _may_be_allowed(subject: "Token") -> bool:
    """Return whether a subject is people, who can be allowed something."""
    lemma = subject.lemma_.lower()
    return lemma in HUMAN | _COUNTED_PEOPLE | _PARTIES or lemma.endswith(("ee", "er", "or", "ant", "ist"))


_PARTIES = word_set("party member staff guest pupil patient resident client customer parent team")
"""Who is allowed something by a rule."""


def _begins_question(clause: Clause) -> bool:
    """Return whether a clause begins with what it asks for: not with `when I was in Rome`."""
    first = clause.tokens[0]
    return first.tag_ in ("WRB", "WP", "WDT") and first.head.dep_ != "advcl"


def _is_inverted(clause: Clause) -> bool:
    """Return whether the verb comes before its subject."""
    finite = next(iter(auxiliaries(clause.head)), clause.head)
    return (
        finite.i < clause.subject.left_edge.i
        and not clause.is_shared
        and clause.subject.dep_ != "expl"
        and not _is_counted(clause)
    )


def _is_counted(clause: Clause) -> bool:
    """Return whether `there are 11 people in our team` says how many of the speaker's."""
    if clause.subject.lower_ != "there":
        return False
    return any(token.like_num for token in clause.tokens) and any(is_first(token) for token in clause.tokens)


def dangling(clause: Clause, *, has_antecedent: bool) -> "Token | None":
    """Return a word that stands for something the clause does not name."""
    for token in clause.tokens:
        word = token.lower_
        if word in ("later", "earlier") and token.i and token.nbor(-1).lemma_ in _TIMES:
            return token  # `two weekends later`
        if token.dep_ == "dobj" and (word in ("mine", "ours") or _counts_alone(token)):
            return token
        if word == "that" and token.dep_ == "det" and _is_time_told_before(token.head):
            return token
        if word in OTHERS:
            if _is_somebody_else(token, clause.subject) if has_antecedent else not _has_own_antecedent(token, clause):
                return token
        elif (
            word in _DANGLING
            and token.text != "IT"
            and _stands_alone(token)
            and not (word == "there" and _is_counted(clause))
        ):
            if word == "it" and token.head.lemma_ == "make" and token.dep_ == "dobj":
                continue  # `can't make it to the party`
            if word in ("it", "them") and token.i > clause.head.i and _has_own_antecedent(token, clause, thing=True):
                continue
            return token
    return None


def _counts_alone(token: "Token") -> bool:
    """Return whether a number counts what was named before: `sold two at the market`."""
    return token.tag_ == "CD" and token.head.lemma_ in _TRADING and not any(token.children)


def _is_time_told_before(time: "Token") -> bool:
    """Return whether a time is one that was spoken of: `I'm off that week`, not `that same day`."""
    return time.lemma_ in _TIMES and not any(child.dep_ in ("relcl", "prep", "amod") for child in time.children)


def _is_somebody_else(token: "Token", subject: "Token") -> bool:
    """Return whether an object can't be who a pronoun as subject is: `he likes them`, `she gave her the keys`."""
    is_other = token.lower_ != subject.lower_ and token.tag_ != "PRP$"
    return subject.lower_ in OTHERS and is_other and token.lower_ not in ("his", "hers", "theirs")


def _stands_alone(token: "Token") -> bool:
    word = token.lower_
    if any(child.dep_ == "nummod" for child in token.children) or (token.i and token.nbor(-1).lower_ in _ALL_OTHERS):
        return False  # `with four others`, `like everyone else`
    if word == "another":
        return token.dep_ in ("dobj", "pobj", "nsubj")  # `saw another at a pet store`
    if word in ("so", "else", "such", "both", "same", "either"):
        return (
            word in ("so", "else", "same")
            and token.dep_ in ("dobj", "pobj", "attr", "advmod")
            and token.i + 1 == len(token.doc)
        )
    if token.tag_ == "WDT" and token.head.dep_ == "relcl":
        return False  # `a van that I converted`
    if word == "that":
        if any(child.lower_ == "of" for child in token.children):
            return False  # `the law is that of Finland`
        return token.dep_ not in ("mark", "det", "nsubj") or (token.dep_ == "nsubj" and token.head.dep_ != "relcl")
    if word in ("one", "ones"):
        parts = {child.lower_ for child in token.children}
        is_of_some = "of" in parts or ("in" in parts and parts.isdisjoint(("the", "that", "this")))
        return token.dep_ in ("dobj", "pobj", "attr", "nsubj") and not is_of_some
    return token.dep_ not in ("det", "mark", "expl", "predet")


def is_object_of(token: "Token", verb: "Token") -> bool:
    """Return whether a pronoun is the object of a verb: `him`, `her`, `them`, `it`."""
    return token.lower_ in ("him", "her", "them", "it") and token.dep_ in ("dobj", "dative") and token.head == verb


def _has_own_antecedent(token: "Token", clause: Clause, *, thing: bool = False) -> bool:
    """Return whether a noun earlier in the clause may be meant."""
    # `My ex will pick him up`: the object of a verb is not its subject.
    own = {part.i for part in clause.subject.subtree} if is_object_of(token, clause.head) else set[int]()
    before = [
        part
        for part in (*clause.subject.subtree, *clause.tokens)
        if part.i < token.i and part.i not in own and part.pos_ in ("NOUN", "PROPN")
    ]
    if thing:
        verb = next((above for above in token.ancestors if above.pos_ == "VERB"), None)
        return any(
            part.lemma_.lower() not in HUMAN
            and part.dep_ in ("dobj", "nsubj")
            and part.tag_ in ("NN", "NNP")
            and not part.lower_.endswith(("ist", "er", "or"))
            and not part.ent_type_
            and not (token.dep_ == "pobj" and part.dep_ == "dobj" and part.head == verb)  # `I run a fridge off it`
            for part in before
        )
    return bool(before) and token.head.lower_ not in _OTHERS_PLACES
