"""Stopwords: words that carry no topic, by language. English ones are our own, others those of `stop-words`."""

from collections.abc import Mapping
from functools import cache

from stop_words import get_stop_words

from pipeline.text.english_verbs import word_set

STOPWORDS = word_set(
    "a about above after again against all am an and any are aren as at be because been before being below between "
    "both but by can could couldn d did didn do does doesn doing don down during each few for from further had hadn "
    "has hasn have haven having he her here hers herself him himself his how i if in into is isn it its itself just ll "
    "m me more most mustn my myself no nor not of off on once only or other our ours ourselves out over own re s same "
    "shan she should shouldn so some such t than that the their theirs them themselves then there these they this "
    "those through to too under until up ve very was wasn we were weren what when where which while who whom whose why "
    "with won would wouldn y you your yours yourself yourselves"
)
"""English stopwords."""
LANGUAGES = (
    "english", "german", "french", "spanish", "italian", "portuguese", "dutch", "polish", "russian", "swedish",
    "norwegian", "danish", "finnish", "turkish", "czech", "hungarian", "romanian", "catalan", "indonesian", "arabic",
    "persian", "hindi", "greek",
)  # fmt: skip
"""Languages with a list of stopwords and a Snowball stemmer of the same name. Earlier ones win ties."""
_QUESTION_WORDS: Mapping[str, str] = {
    "german": "welche welcher welches welchen welchem wer wen wem was wann wo wohin woher womit wovor wie wieso",
    "french": "qui que quoi quel quelle quels quelles combien quand où pourquoi comment est-ce suis",
    "spanish": "qué quién quiénes cuál cuáles cuánto cuánta cuántos cuántas cuándo dónde adónde cómo",
    "italian": "quale quali quanto quanta quanti quante quando dove come che perché qual",
    "portuguese": "que quem qual quais quanto quanta quantos quantas quando onde aonde como",
    "dutch": "welk welke wie wat waar wanneer hoe hoeveel waarom waardoor waarmee mijn onze ons",
    "polish": "jaki jaka jakie jakim jaką którym kto kogo czego czym komu gdzie kiedy dokąd skąd ile czy moja moje mój",
    "russian": "кто что какой какая какие где куда когда сколько почему мой моя моё мои наш наша",
    "arabic": "من ما ماذا متى أين كم كيف أي هل لماذا مم",
    "hindi": "कौन क्या कब कहाँ कैसे कितना कितनी कितने किसने किसे किससे मेरा मेरी मेरे हमारा हमारी हमारे मैं हम मुझे सी",
}
"""Question words and possessives that the lists lack: the frame of a question says nothing about its answer."""
_MAX_STOPWORD_CHARS = 12
_LONE_LETTERS = frozenset("bfghkpqrvx")
"""Letters that some lists have and that are no word, nor the rest of one before an apostrophe."""


@cache
def stopwords(language: str) -> frozenset[str]:
    """The stopwords of a language, in lower case."""
    if language == "english":
        return STOPWORDS
    listed = [word.casefold() for word in get_stop_words(language) if len(word) <= _MAX_STOPWORD_CHARS]
    listed = [word for word in listed if len(word) > 1 or (word.isalpha() and word not in _LONE_LETTERS)]
    return frozenset([*listed, *_QUESTION_WORDS.get(language, "").split()])
