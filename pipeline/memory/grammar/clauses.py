"""Clauses of a parsed sentence: each finite verb with a subject of its own, or the subject it shares."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, cast

from pipeline.memory.languages.english import english_words
from pipeline.text.english_verbs import word_set

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span, Token

_FIRST = frozenset({"i", "we", "me", "us", "my", "our", "mine", "ours", "myself", "ourselves"})
OTHERS = frozenset({"he", "she", "they", "him", "her", "them", "his", "their", "hers", "theirs"})
SUBJECTS = frozenset({"nsubj", "nsubjpass", "csubj", "expl"})
_ATTACHABLE = frozenset({"conj", "ccomp", "parataxis", "advcl", "dep"})
_VERBS = frozenset({"VERB", "AUX"})
_FINITE = frozenset({"VBD", "VBZ", "VBP", "MD"})
_SUBORDINATING = english_words("subordinating")
_UNREAL = word_set("let make hope wish think guess bet suppose imagine glad hear say feel tell know promise")
"""Verbs without a subject whose clauses are not said to be true."""
_EDGE = frozenset(["and", "but", "so", "plus", "also", "then", "well", "anyway", "or", "nor", "yet", "therefore"])


@dataclass(frozen=True, slots=True)
class Clause:
    """A verb, its tokens in order, and its subject; `is_shared`: the subject belongs to an earlier clause."""

    head: "Token"
    tokens: "tuple[Token, ...]"
    subject: "Token"
    is_shared: bool = False


def is_first(token: "Token") -> bool:
    """Return whether a word means the speaker; `the US` is a country."""
    return token.lower_ in _FIRST and token.text != "US"


def find_clauses(doc: "Doc") -> list[Clause]:
    """Return the clauses that can stand alone, in order; subordinate ones stay within theirs. Found once a text."""
    if (found := doc.user_data.get(_FOUND)) is None:
        found = doc.user_data[_FOUND] = list(_clauses(doc))
    return cast("list[Clause]", found)


_FOUND = "clauses"


def _clauses(doc: "Doc") -> Iterator[Clause]:
    heads: dict[int, Token] = {}
    for token in _top_down(doc):
        if _begins_clause(token, heads):
            heads[token.i] = token
    compounds = {head.i: noun for head in heads.values() if (noun := _misread_noun(head)) is not None}
    for noun in compounds.values():
        heads.pop(noun.i, None)
    for head in sorted(heads.values(), key=lambda token: token.i):
        if (noun := compounds.get(head.i)) is not None:
            yield Clause(head, _tokens(noun, heads, head), noun)
            continue
        subject = own_subject(head)
        shared = subject is None
        source = head
        while subject is None and (earlier := _coordinated_head(source, heads)) is not None:
            source = earlier
            subject = own_subject(source)
        tokens = _tokens(head.head if head.dep_ == "compound" else head, heads, head)
        # `Kim: fixed the bug`: what is cut off at the colon may be the subject.
        if subject is not None and (shared or subject in tokens):
            yield Clause(head, tokens, subject, shared)


def without_addition(clause: Clause, at: "Token") -> Clause | None:
    """Return the clause without what a conjunction adds to it from before a token; None if nothing stands before."""
    for place in range(len(clause.tokens) - 1, 1, -1):
        token = clause.tokens[place]
        if clause.head.i < token.i <= at.i and (token.dep_ in ("cc", "mark") or token.text in (",", ";", "(")):
            kept = list(clause.tokens[:place])
            while kept and kept[-1].dep_ in ("cc", "punct"):
                kept.pop()
            return replace(clause, tokens=tuple(kept)) if kept and kept[-1].i > clause.head.i else None
    return None


def reasons(clause: Clause) -> list[Clause]:
    """Return what a clause gives as its reasons, which are true whatever becomes of it: `because Finn is autistic`."""
    found: list[Clause] = []
    for verb in clause.head.children:
        mark = next((child for child in verb.children if child.dep_ == "mark"), None)
        subject = own_subject(verb)
        if mark is None or subject is None:
            continue
        if mark.lower_ in _SAID_TO_BE_SO and mark.i < subject.left_edge.i:
            tokens = tuple(token for token in clause.tokens if subject.left_edge.i <= token.i <= verb.right_edge.i)
            found += [Clause(verb, tokens, subject)] if verb in tokens else []
    return found


_SAID_TO_BE_SO = frozenset({"because", "cos", "since", "as", "though", "although", "before", "after", "now"})
"""Words after which something is said to be so, or planned: `because Finn is autistic`, `before we move to Rye`."""


def own_subject(verb: "Token") -> "Token | None":
    subjects = [child for child in verb.children if child.dep_ in SUBJECTS]
    if not subjects:
        # `my brother got engaged`: the parser may give the subject to the auxiliary.
        subjects = [child for helper in auxiliaries(verb) for child in helper.children if child.dep_ in SUBJECTS]
    named = [child for child in subjects if child.dep_ != "expl"]
    before = [child for child in named if child.i < verb.i]
    return before[-1] if before else next(iter(named or subjects), None)


def attach_second_subjects(doc: "Doc") -> None:
    """Give a coordinated verb the noun before it, which the parser coordinates with another.

    In `Ann is vegan and my brother won't eat cheese` no conjunction joins the second verb to the first subject.
    """
    for verb in doc:
        noun = doc[verb.left_edge.i - 1]
        noun = noun.head if noun.dep_ == "appos" else noun  # `her husband Imran`
        is_owned = any(child.dep_ == "poss" for child in noun.children)
        finite = [verb, *auxiliaries(verb)] if is_owned else auxiliaries(verb)
        is_finite = any(helper.tag_ in _FINITE for helper in finite)
        is_noun = noun.dep_ == verb.dep_ == "conj" and noun.pos_ in ("NOUN", "PROPN", "PRON")
        joint = noun.left_edge.nbor(-1) if is_finite and is_noun and noun.left_edge.i else None
        if joint is None or joint.dep_ != "cc" or own_subject(verb) is not None or not verb.head.is_ancestor(noun):
            continue
        noun.head, noun.dep_ = verb, "nsubj"
        joint.head = verb.head
        if verb.i + 1 < len(doc) and (after := verb.nbor()).dep_ == "conj" and after.head == verb.head:
            after.head, after.dep_ = verb, "dobj"


def spliced(doc: "Doc") -> list[str]:
    """Return the sentences of a text that only commas join, where the parser has made one clause of two.

    `My sister lives in Oslo, she's a nurse` would be a nurse who lives in Oslo, and no clause that names her.
    """
    begin_of = {clause.head: clause.tokens[0].i for clause in find_clauses(doc) if clause.tokens}
    begins = [0]
    for subject in doc:
        verb, begin = subject.head, subject.left_edge.i
        stop = begin - 1 - (begin > 1 and doc[begin - 1].dep_ == "cc")
        if subject.dep_ not in SUBJECTS or subject.i > verb.i or stop <= begins[-1] or doc[stop].text != ",":
            continue
        before = _own_verb(doc[begins[-1] : stop])
        is_finite = any(part.tag_ in _FINITE for part in (verb, *auxiliaries(verb)))
        is_apart = before in begin_of and begin_of.get(verb, 0) > stop
        if before is not None and is_finite and verb.dep_ != "relcl" and not is_apart:
            begins.append(begin)
    return [doc[first:last].text.rstrip(", ") for first, last in pairwise([*begins, len(doc)])]


def _own_verb(before: "Span") -> "Token | None":
    """Return the verb of a part that is a sentence of its own: not of `if he comes`, `I hope` or `on Monday`."""
    subjects = [token for token in before if token.dep_ in SUBJECTS and token.i < token.head.i < before.end]
    if not subjects or any(token.lower_ in _CONDITIONS and token.i < subjects[-1].i for token in before):
        return None
    is_told = len(subjects) == 1 and subjects[0].head.lemma_.lower() in _TELLING | _UNREAL
    return None if is_told else subjects[0].head


_CONDITIONS = frozenset(
    {"if", "unless", "whether", "when", "whenever", "once", "while", "until", "as", "since", "although", "though"}
)
"""Words whose clause goes on behind a comma."""


def auxiliaries(verb: "Token") -> "list[Token]":
    return [child for child in verb.children if child.dep_ in ("aux", "auxpass")]


def is_passive(verb: "Token") -> bool:
    """Return whether a verb has the auxiliary of a passive: `was promoted`, `got promoted`."""
    return any(child.dep_ == "auxpass" for child in verb.children)


def has_object(verb: "Token") -> bool:
    """Return whether a verb has a direct object."""
    return any(child.dep_ == "dobj" for child in verb.children)


def _top_down(doc: "Doc") -> "Iterator[Token]":
    waiting = [token for token in doc if token.dep_ == "ROOT"]
    while waiting:
        token = waiting.pop(0)
        yield token
        waiting += token.children


def _begins_clause(token: "Token", heads: "dict[int, Token]") -> bool:
    if token.dep_ == "ROOT":
        return token.pos_ in _VERBS or own_subject(token) is not None
    if token.dep_ == "compound" and token.head.dep_ == "ROOT":
        # The parser takes `I'm working nights` for a kind of nights.
        return token.tag_ == "VBG" and bool(auxiliaries(token)) and own_subject(token) is not None
    if token.dep_ not in _ATTACHABLE or _is_subordinate(token) or (token.i and token.nbor(-1).text == "/"):
        return False
    subject = own_subject(token)
    if token.dep_ == "conj" or _is_next_act(token):
        first = _coordinated_head(token, heads)
        return first is not None and (subject is not None or _shares_subject(token, first))
    if subject is None or token.head.dep_ != "ROOT":
        return False
    return _is_run_on(token)


def _is_subordinate(token: "Token") -> bool:
    first = min(token.subtree, key=lambda part: part.i)
    return any(child.dep_ == "mark" and child.lower_ != "so" for child in token.children) or (
        first.lower_ in _SUBORDINATING and token.dep_ != "conj"
    )


def _is_run_on(token: "Token") -> bool:
    """Return whether only punctuation or an interjection joins the clause: `I moved, I live in Rome`."""
    head = token.head
    main = own_subject(head)
    if main is None:
        return head.tag_ in ("VB", "UH", "NN", "NNS", "NNP", "JJ", "VBP", "VBN") and head.lemma_.lower() not in _UNREAL
    if token.i < main.i:
        return True
    left = token.left_edge.i
    if token.dep_ == "ccomp":
        # `Mom called, her surgery is in May`; the comma may belong to the second clause.
        own = own_subject(token)
        begin = -1 if own is None else own.left_edge.i
        return head.lemma_ not in _UNREAL and begin - left in (0, 1) and token.doc[begin - 1].text in ",;"
    return (left > 0 and token.doc[left - 1].text in ",;:-\u2013\u2014") or (
        token.dep_ == "advcl" and token.left_edge.lower_ == "so" and not _is_purpose(token)
    )


def _is_purpose(verb: "Token") -> bool:
    """Return whether a clause after `so` is what something was done for: `I saved up, so I can buy a printer`."""
    is_able = any(helper.lower_ in ("can", "could") for helper in auxiliaries(verb))
    return is_able and not any(child.dep_ == "neg" for child in verb.children)


def _is_next_act(token: "Token") -> bool:
    """Return whether the speaker did it after what was said before a comma: `can't do Friday, started a new job`."""
    subject = own_subject(token.head)
    begin = token.left_edge
    is_after = token.i > token.head.i and begin.i > 0 and "," in (begin.text, begin.nbor(-1).text, token.nbor(-1).text)
    is_act = token.tag_ == "VBD" and token.dep_ in ("dep", "advcl", "ccomp") and is_after
    return is_act and own_subject(token) is None and subject is not None and is_first(subject)


def _coordinated_head(token: "Token", heads: "dict[int, Token]") -> "Token | None":
    """Return the clause's verb that a verb is coordinated with; `I am vegan and love hiking` by its complement."""
    first = token.head if token.dep_ == "conj" or _is_next_act(token) else None
    while first is not None and first.i not in heads:
        finite = token.tag_ in ("VBP", "VBZ") or own_subject(token) is not None
        first = first.head if finite and first.dep_ in ("conj", "acomp", "attr") else None
    return first


def _shares_subject(token: "Token", first: "Token") -> bool:
    """Return whether a coordinated verb has the subject of the first, and not only its auxiliary."""
    own = auxiliaries(token)
    if not own and token.tag_ == "JJ" and any(child.dep_ == "neg" for child in token.children):
        return False  # `I'm 74 and not great with computers`
    if token.pos_ not in _VERBS and (
        any(child.dep_ in ("det", "poss", "nummod", "amod") for child in token.children)
        or not any(child.dep_ in ("prep", "dobj") and child.i > token.i for child in token.children)
    ):
        return False
    if any(child.tag_ in _FINITE for child in own):
        return True
    if token.pos_ not in _VERBS:
        return (first.tag_ == "VBP" or first.lemma_ in _LEADS_TO) and not auxiliaries(first)
    if token.tag_ == "VB" and not own and token.left_edge.i and "so" in (token.left_edge.lower_, token.nbor(-1).lower_):
        return False  # `we live high up, so add ten minutes`
    subject = own_subject(first)
    if token.tag_ == "VBZ" and subject is not None and is_first(subject):
        return False  # `I like it, tastes good`
    is_one = subject is not None and subject.tag_ in ("NN", "NNP") and not any(subject.conjuncts)
    if token.tag_ in ("VB", "VBP") and is_one and not (own or auxiliaries(first)):
        return False  # `Sunday's walk is Mam Tor, meet at 9:30`
    if token.tag_ in ("VBD", "VBZ"):
        return not is_passive(first)
    if first.tag_ == "VBN" and any(child.lemma_ == "have" for child in auxiliaries(first)):
        return token.tag_ in ("VBP", "VB")
    is_finite = not any(child.tag_ == "MD" or child.lemma_ in ("do", "to") for child in auxiliaries(first))
    is_led = first.tag_ == "VBP" or first.lemma_ in _LEADS_TO or is_passive(first)
    return token.tag_ in ("VBP", "VB") and is_finite and is_led


_LEADS_TO = word_set("move relocate return graduate marry divorce retire switch change join be")


def _misread_noun(head: "Token") -> "Token | None":
    """Return a noun that was read as a verb, before the true one: `Postgres upgrade to 17 is postponed`."""
    noun = head.head
    if head.dep_ != "conj" or noun.tag_ not in ("VB", "VBP") or own_subject(head) is not None or auxiliaries(noun):
        return None
    subject = own_subject(noun)
    is_compound = subject is not None and subject.i == noun.i - 1 and subject.pos_ in ("NOUN", "PROPN")
    is_joined = any(part.dep_ == "cc" or part.is_punct for part in head.doc[noun.i : head.i])
    return noun if is_compound and not is_joined else None


def _until_break(tokens: "list[Token]", head: "Token") -> "list[Token]":
    """Return the tokens between the dashes around the verb, without an opening `since we last talked`."""
    begin, end = 0, len(tokens)
    for at, token in enumerate(tokens):
        if token.text in ("-", "--", ";", ":", "\u2013", "\u2014") and (token.whitespace_ or token.text == "\u2014"):
            if token.i < head.i:
                begin = at + 1
            elif token.text != ":" or not _goes_on(tokens[:at], head, tokens[at + 1 :]):
                end = at
                break
    aside = {part.i for child in head.children if _is_aside(child, head) for part in child.subtree}
    return [token for token in tokens[begin:end] if token.i not in aside]


def _goes_on(before: "list[Token]", head: "Token", after: "list[Token]") -> bool:
    """Return whether a clause needs what follows its colon: a list, or a result as in `the scan came back: clear`."""
    is_result = head.lemma_ in ("come", "be") and before[-1].lower_ in ("back", "in")
    is_result = is_result or is_passive(head)
    is_address = all(word.pos_ == "PROPN" or word.like_num or word.is_punct for word in after)
    return is_result or ((is_address or before[-1].pos_ in _NAMING) and _is_listed(after))


def _is_listed(words: "list[Token]") -> bool:
    """Return whether only a few names, things or numbers follow a colon: `a new number: 06 55`."""
    listed = [word for word in words if not (word.is_punct or word.is_space or word.dep_ in ("cc", "det"))]
    return 1 <= len(listed) <= _MAX_LISTED and all(word.pos_ in _NAMING or word.like_num for word in listed)


_NAMING = frozenset({"PROPN", "NOUN"})
_MAX_LISTED = 8


def _is_aside(child: "Token", head: "Token") -> bool:
    """Return whether a part before the subject says something by itself: `make it 100, my hours got cut`."""
    subject = own_subject(head)
    if subject is None or child.i >= subject.left_edge.i:
        return False
    if child.dep_ == "advcl" and child.lemma_ in ("speak", "talk", "chat", "see"):
        return True
    is_order = child.tag_ == "VB" and not any(
        part.dep_ in SUBJECTS or part.dep_ == "mark" or part.lower_ == "to" for part in child.children
    )
    if child.dep_ == "advcl" and is_order and child.lemma_.lower() not in _UNREAL:
        return True  # `don't call before 10 I work nights`
    is_apart = child.right_edge.i < subject.left_edge.i and child.right_edge.nbor().text == ","
    if child.dep_ == "advcl" and child.tag_ == "JJ":
        return is_apart  # `remote only, I live in Ghent`
    is_marked = any(part.dep_ in ("mark", "advmod", "aux") for part in child.children)
    is_dated = any(part.ent_type_ in ("DATE", "TIME") for part in child.subtree)
    if child.dep_ == "advcl":
        return is_apart and not is_marked and child.tag_ in ("VB", "NN", "NNS", "NNP", "CD")
    return is_apart and not is_dated and (child.dep_ in ("npadvmod", "appos", "dep") or child.tag_ == "CD")


def _without_tail(tokens: "list[Token]", head: "Token") -> "list[Token]":
    """Drop what a comma adds without a verb of its own: `so no thai places`, `then back home`, `they're 4`."""
    for at, token in enumerate(tokens[:-1]):
        if token.i > head.i and token.text in (",", ";") and _is_tail(tokens[at + 1 :]):
            return tokens[:at]
    for at, token in enumerate(tokens):
        if (
            token.i > head.i
            and token.lower_ == "so"
            and token.dep_ in ("cc", "mark", "advmod")
            and _is_tail(tokens[at:])
        ):
            return tokens[:at]
    return tokens


def _is_tail(tokens: "list[Token]") -> bool:
    """Return whether words after a comma are a remark: a result, a comment or a run-on clause."""
    first = tokens[0]
    said = [token for token in tokens if not token.is_punct] or tokens
    is_short = len(said) == 1 and first.tag_ == "JJ"
    is_comment = len(said) <= _MAX_COMMENT and said[-1].lemma_.lower() in english_words("evaluations")
    if (is_short or is_comment) and said[-1].dep_ not in ("conj", "attr", "acomp", "appos"):
        return True  # `lost my umbrella, typical`, `he's got diabetes, poor thing`
    if first.lower_ == "which" and first.head.lemma_ == "be" and any(map(_is_judgement, first.head.children)):
        return True  # `, which is great`
    if first.lower_ in _REMARKS and not (first.lower_ == "so" and len(tokens) > 1 and tokens[1].lower_ == "that"):
        is_result = first.head.pos_ in ("VERB", "AUX", "ADP") or (
            len(tokens) > 1 and tokens[1].lower_ in ("no", "nothing")
        )
        return first.lower_ != "so" or first.dep_ != "advmod" or is_result
    if first.tag_ == "PRP" and first.dep_ in SUBJECTS and first.head.dep_ not in ("relcl", "advcl"):
        return True
    while first.dep_ == "advmod" and first.head in tokens and first.i + 1 <= tokens[-1].i:
        first = tokens[tokens.index(first) + 1]  # `, always take the train`
    return first.tag_ in ("VBP", "VB") and not any(child.dep_ in SUBJECTS for child in first.children)


def _is_judgement(complement: "Token") -> bool:
    return complement.dep_ in ("acomp", "attr") and complement.lemma_.lower() in _JUDGING


_MAX_COMMENT = 3
_TELLING = english_words("empty_verbs")
_JUDGING = english_words("evaluations") | english_words("vague_objects")
_REMARKS = word_set("so then still lol whatever thankfully luckily sadly tho though only no please")


_TRAILING = frozenset({"and", "but", "so", "plus", "or", "though", "tho"})


def _tokens(top: "Token", heads: "dict[int, Token]", head: "Token") -> "tuple[Token, ...]":
    """Return the tokens below the top of a clause, without those of other clauses."""
    others = {
        part.i for other in heads.values() if other is not head and head.is_ancestor(other) for part in other.subtree
    }
    own = sorted((token for token in top.subtree if token.i not in others), key=lambda token: token.i)
    kept = _without_tail(_until_break(own, head), head)
    while kept and (kept[0].is_punct or kept[0].is_space or kept[0].dep_ in ("intj", "cc") or kept[0].lower_ in _EDGE):
        kept.pop(0)
    while kept and (
        kept[-1].is_space
        or (kept[-1].is_punct and kept[-1].text not in (")", "%", '"'))
        or kept[-1].dep_ in ("intj", "cc")
        or kept[-1].tag_ in ("NFP", "UH")
        or kept[-1].lower_ in _TRAILING
    ):
        kept.pop()
    return tuple(kept)
