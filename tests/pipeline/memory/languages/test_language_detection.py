"""Languages are told by scripts and letters."""

import pytest

from bench.datasets.paraphrases import LANGUAGES as PARAPHRASED
from bench.datasets.paraphrases import MORE_LANGUAGES, paraphrases
from pipeline.memory.languages.language_detection import detect_language
from pipeline.memory.languages.profiles import all_profiles

MIN_TOLD = 0.97


def told(text: str) -> str:
    profile = detect_language(text)
    return next((code for code, known in all_profiles().items() if known is profile), "en")


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("wat is een goed cadeau voor mijn man", "nl"),
        ("kira may\u0131sta art\u0131yor", "tr"),
        ("İşe otobüsle gidiyorum", "tr"),
        ("o Thor morreu no mês passado", "pt"),
        ("mi hermana se muda en mayo", "es"),
        ("szukam mieszkania w Gdańsku", "pl"),
        ("мій син вчиться в школі", "uk"),
        ("я работаю в школе", "ru"),
        ("felmondtam a bankban", "hu"),
        ("oma woont in Zwolle", "nl"),
        ("弟は大阪に住んでいます", "ja"),
        ("bins are emptied on tues", "en"),
        ("I met Le Corbusier", "en"),
        ("im back from the gym lol", "en"),
        ("our meeting on Kubernetes, см. ниже", "en"),
    ],
)
def test_the_language_of_what_is_typed_in_a_hurry_is_told(text: str, language: str) -> None:
    assert told(text) == language


@pytest.mark.parametrize("name", ["Ada", "Ana", "Maria", "Sara", "Luca", "Ivan"])
@pytest.mark.parametrize("said", ["likes tea", "eats rice", "plays piano", "has diabetes", "doesn't drive"])
def test_a_foreign_name_does_not_hide_an_english_verb(name: str, said: str) -> None:
    assert detect_language(f"{name} {said}") is None


def test_few_words_go_on_in_the_language_before_them() -> None:
    dutch = detect_language("ik woon in Gent")
    assert detect_language("Anna en Piet", dutch) is dutch
    assert detect_language("300 ml milk", None) is None


def test_nearly_all_locked_lines_of_22_languages_are_told_right() -> None:
    lines = [
        (code, text)
        for code in (*PARAPHRASED, *MORE_LANGUAGES)
        for found in (paraphrases(code, locked=True),)
        for text in [*found.foreign, *(text for line in (*found.facts, *found.updates) for text in line)]
    ]
    assert sum(told(text) == code for code, text in lines) >= MIN_TOLD * len(lines)
