"""All parameters of the ranking, and their sources.

The weights of the first stage were chosen for e5 on LoCoMo's development conversations, Cranfield, Chroma's
chunking texts, guides in five languages and the open half of `bench.paraphrases`, none alone. docs/benchmarks.md
has the effect of each part, decision 0043 the steps.
"""

from collections.abc import Mapping

from pipeline.rows import RowKind
from pipeline.text.context_terms import OWN_TERM_WEIGHT

# BM25 for short texts: on LoCoMo 0.9 and 0.4 find 62.1 % of the evidence in ten results; the usual 1.2 and
# 0.75 find 61.5 %.
K1 = 0.9
B = 0.4
CHUNK_K1 = OWN_TERM_WEIGHT * K1
"""Chunk terms are counted OWN_TERM_WEIGHT times, so saturation starts at as many times the count."""
ASKER_NAME_FACTOR = 0.3
"""Share of their weight that words of the asker's own name keep. By 0 to 0.5 the same 34 of 39 open questions of
`bench.datasets.asked_by_name` are answered first; what others write names the asker, so it is not 0."""
WORD_ROWS = 300
FEW_ROWS_EVIDENCE = 3.0
"""Rows from which the words of a question count in full with `Calibration.full_word_evidence`, and the factor on it in
smaller namespaces, at most: with 1, 2, 3 and 4, 118, 122, 126 and 125 of 206 open questions to synced sources are
right first in a grid that began at 600 rows (decision 0043)."""
MAX_LOOKUP_WORDS = 2
"""Own words of a query up to which they count alike in small namespaces: whoever types a code or a name wants the row
that has it. With 0, 1 and 2, 60, 73 and 73 of 80 such codes, names and rare words of synced sources find it first in
the whole source, 76 of 104 and more in its first texts; open questions to these sources stay (decision 0043)."""
IDF_PRIOR_ROWS = 100
"""Rows without any query term that are added to every namespace for the IDF, so that in five rows a word of
two rows still weighs something. No effect beyond a few hundred rows."""
DOCUMENT_K1 = 3.6
DOCUMENT_B = 0.75
"""Textbook BM25 for whole documents: 1.2 and 0.75, at about three counts for each word of a document."""

MULTI_ANSWER_DOCUMENT_FACTOR = 0.3
"""Factor on document scores for questions about several things, whose answers are spread over documents. On
LoCoMo 1.5 points more of their evidence is within 2,000 tokens; leave-one-conversation-out training gives
0 to 0.15 (decision record 0014)."""

SECOND_STAGE_CANDIDATES: Mapping[RowKind, int] = {"chunk": 256, "memory": 128}
"""Rows that get second-stage ranking. 128 chunks lose 0.2 points of LoCoMo's evidence within 2,000 tokens; 64
memories find 0.7 points less by themselves."""
MAX_EXACT_SCORING_ROWS = 4_096
RESCORE_CANDIDATES = 640
"""Largest namespace with exact cosines for all rows, and the number of rows per segment that get exact cosines
above it: faster from that size on, with the same ten results (decision record 0012)."""
COMMON_TERM_ROW_SHARE = 0.05
MAX_DEFERRED_WEIGHT_SHARE = 0.2
"""Terms in more than this share of the rows are scored only for preselected rows, as long as they have at most
this share of the query's weight."""
SPEAKER_BOOST = 0.8
"""Gain of a chunk spoken entirely by somebody the query names; else in proportion to the share of its text."""
TIME_BOOST = 2.7
NUMBER_BOOST = 1.0
"""Gain of a text with a time for a query that asks when, and with a number for one that asks how many."""
DATE_BOOST = 3.0
DATE_DECAY_DAYS = 10.0
"""Gain of a document of the time that the query names, and the days after which the gain falls to 1/e."""
FULL_CUE_SIMILARITY = 0.3
CUE_DECAY_SCORE = 6.0
"""Similarity from which a speaker, a time, a number or a date counts in full (below it counts in proportion), and the
distance to the best score at which it counts by 1/e: it orders what answers about as well, and lifts nothing else."""
CUE_LEAD_SHARE = 0.1
"""Share that counts of a lead over the best score without cues: they order, but an unrelated statement that has a time
or a number is no surer answer for it."""
FEATURE_RANKS_PER_RESULT = 3
MIN_FEATURE_RANKS = 50
"""A text is read for speakers, times and numbers if these can lift it to this multiple of the number of results, or to
this rank: a third less work in conversations, where all texts have speakers (decision 0014)."""
NEWER_MAX_CHARS = 160
NEWER_CANDIDATES = 8
"""Of so many of the best statements, short ones, a newer one may answer instead of an older one (`newer_statement`)."""
ALIKE_MIN_COSINE = 0.22
"""Least cosine of a relative's statement and the asker's own about the same thing. On the open half of
`bench.paraphrases` nine of ten statements that replace another have this cosine to it, and one of a hundred pairs of
other facts."""
NEWEST_MAX_DIFFERENCE = 0.15
"""How much lower the sum of a statement's cosines to the replaced one and to the question may be than the largest such
sum, for it to be raised because it is newest."""
RELATIVE_MAX_SIMILARITY = 0.35
"""Highest similarity of a short statement about a relative or friend to a question about the asker alone."""
NO_NUMBER_MAX_SIMILARITY = 0.25
"""Highest similarity of a short statement without a number to a question that asks for one: below the default
threshold, and found with a lower one."""
OTHER_RELATIVE_MAX_SIMILARITY = 0.25
"""The same of a short statement about another relative or friend to a question about one of the asker's."""
UNKNOWN_NAME_PENALTY = 1.0
"""What an answer loses for each name in the question that nothing in the namespace has. With 1.5 two more of 24 open
questions about strangers find nothing, with 2 a fact asked for by its place's country is lost (decision 0043)."""
TELLING_LOG_ODDS = 1.0
NOT_TELLING_LOG_ODDS = 0.0
TELLING_MAX_LEAD = 1.0
"""Log-odds above and below which a statement tells the kind of answer asked for, or does not; and the raw score by
which the latter may lead and still comes after the former."""
SAME_QUESTION_COSINE = 0.45
"""Cosine from which a question among the texts means about what is asked now, and may be what is looked for."""
NEIGHBOR_SHARE = 0.6
NEIGHBOR_MAX_CHARS = 600
"""Share of the cosine lead of the passage before or after that a passage gains; less the longer the
passage is, and none from NEIGHBOR_MAX_CHARS: a turn of a conversation depends on the turn before it."""
MEMORY_SUPPORT_FACTOR = 0.2
"""Share of the score of its best memory that a chunk gains."""
MEMORY_PENALTY = 0.5
"""What a memory loses beside passages: it says one thing in few words, and is nearer by meaning to any question about
the same than the passage that says it among others."""
MANY_THINGS_MIN_CHARS = 400
"""Length from which a chunk says several things, and scores at least what its best memory does. From 300 on 124 instead
of 123 of 206 open questions to synced sources are right first, and LoCoMo loses 0.6 within 720 tokens."""
STATED_IN_CHUNK_PENALTY = 3.0
"""Penalty for a memory whose source chunk already ranks higher."""
OUTDATED_CHUNK_PENALTY = 3.0
"""Penalty for a chunk whose best memory was superseded or forgotten. Equal to STATED_IN_CHUNK_PENALTY, so that
of chunks that answer alike the valid one comes first. Not learned."""
MIN_ANSWER_SIMILARITY = 0.3
"""Similarity from which such a memory counts as an answer: the default threshold of searches."""
