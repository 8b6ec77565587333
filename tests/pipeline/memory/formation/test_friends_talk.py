"""What friends tell each other of their lives becomes memories of whom it is about, whoever named them."""

from datetime import date

import pytest

from pipeline.memory.formation.rule_based_extraction import extract_facts


def _memories(text: str) -> list[str]:
    return [fact.text for fact in extract_facts(text, date(2026, 11, 27))]


@pytest.mark.parametrize(
    ("talk", "memory"),
    [
        ("Ann: I like your dad.\nBen: He walks two miles every morning.", "Ben's dad walks two miles every morning"),
        (
            "Ann: Is Jo still nursing?\nBen: She switched to night shifts in August.",
            "Jo switched to night shifts in August",
        ),
        (
            "Ann: My sister Leila lives in Toronto.\nBen: That's far!\nAnn: She studies law at the university.",
            "Ann's sister Leila studies law at the university",
        ),
        ("Ann: How is Mango doing?\nBen: He's got diabetes, poor thing. I love him.", "Mango has got diabetes"),
        (
            "Ann: I'm writing a speech for my best friend Dominik. He marries Jana on 12 June.\nBen: I like it.",
            "Ann's best friend Dominik marries Jana on 12 June",
        ),
        ("Ann: My son Jamie is ill. He's missed two tests.\nBen: I see.", "Ann's son Jamie has missed two tests"),
    ],
)
def test_she_is_whom_either_of_two_has_spoken_of(talk: str, memory: str) -> None:
    assert memory in _memories(talk)


@pytest.mark.parametrize(
    "talk",
    [
        "Ann: Is Jo well?\nBen: Hm.\nAnn: I made soup.\nBen: I like soup.\nAnn: She works at the bank in Kiel.",
        "Ann: I told my landlord.\nBen: Of what?\nAnn: staffie cross, she's called Banksy, from the bank.",
        "Ann: Is Jo well?\nBen: Yes.\nCid: Hi.\nBen: She works at the bank in Kiel.",
    ],
)
def test_she_is_nobody_after_other_talk_or_among_three(talk: str) -> None:
    assert not [memory for memory in _memories(talk) if "bank" in memory]


@pytest.mark.parametrize(
    ("remark", "memory"),
    [
        ("I quit the firm and enrolled in culinary school.", "Ben enrolled in culinary school"),
        ("I can't make it, broke my wrist at climbing.", "Ben broke their wrist at climbing"),
        ("Can't do Friday, started my new job at the garden centre.", "Ben started their new job at the garden centre"),
        ("We've sold the house!", "Ben has sold the house"),
        ("We went camping with the kids last week.", "Ben went camping with the kids in the week of 16 November 2026"),
        ("I went hiking last Friday.", "Ben went hiking on 20 November 2026"),
        ("I love baking bread.", "Ben loves baking bread"),
        ("My grandma passed away last week.", "Ben's grandma passed away in the week of 16 November 2026"),
        ("my puppy's name is Coco", "Ben's puppy's name is Coco"),
        ("I'm Ben, joined the data team yesterday.", "Ben joined the data team on 26 November 2026"),
        ("I lost my umbrella in Rome, typical.", "Ben lost their umbrella in Rome"),
    ],
)
def test_a_plain_event_of_a_life_is_kept_whoever_else_is_there(remark: str, memory: str) -> None:
    assert memory in _memories(f"Ann: How are you?\nBen: {remark}")


@pytest.mark.parametrize(
    "remark",
    [
        "We had a blast.",
        "We roasted marshmallows.",
        "We are closed from 16 to 22 February.",
        "I'm going to do more ads.",
        "I love spending time with you.",
        "Sunday's walk is great, meet at 9:30.",
    ],
)
def test_what_passes_or_says_nothing_is_not_kept(remark: str) -> None:
    assert _memories(f"Ann: How are you?\nBen: {remark}") == []


@pytest.mark.parametrize(
    ("talk", "memories"),
    [
        (
            "Giulia: Ci siamo lasciati ad agosto.\nMarco: Mi dispiace. Mio fratello si è sposato sabato.",
            ["Giulia: Ci siamo lasciati ad agosto", "Marco: Mio fratello si è sposato sabato"],
        ),
        (
            "Daan: Ik ben begonnen bij de brandweer. Mijn opa is overleden.\nSanne: Gecondoleerd.\nDaan: Dank je.",
            ["Daan: Ik ben begonnen bij de brandweer", "Daan: Mijn opa is overleden"],
        ),
        (
            "Can: Geçen hafta yeni işime başladım. Babam haziranda emekli oldu.\nZeynep: Ne güzel!\nCan: İyiyim!",
            ["Can: Geçen hafta yeni işime başladım", "Can: Babam haziranda emekli oldu"],
        ),
    ],
)
def test_a_talk_is_in_one_language_whatever_its_short_sentences_look_like(talk: str, memories: list[str]) -> None:
    assert _memories(talk) == memories


@pytest.mark.parametrize(
    ("talk", "memories"),
    [
        # A sentence with words that English has too, and one whose first word is a verb there.
        (
            "Bram: hee, ben je al thuis?\nFleur: vertel!\nBram: we trouwen in oktober, in Maastricht\nFleur: wat leuk!",
            ["Bram: we trouwen in oktober, in Maastricht"],
        ),
        # Speakers whom only the verb tells.
        (
            "Таня: привет\nСвета: привет. переехала в Пермь в сентябре\nТаня: обнимаю",  # noqa: RUF001
            ["Света: переехала в Пермь в сентябре"],
        ),
        ("Lia: e aí?\nNuno: começo na terça no banco\nLia: que bom", ["Nuno: começo na terça no banco"]),
        # Names, where all begin with small letters, and reactions.
        (
            "Derya: selam, ne haber\nOya: iyi. Tolga temmuzda emekli oldu\nDerya: ne güzel, sevindim\nOya: ben de öyle",
            ["Oya: Tolga temmuzda emekli oldu"],
        ),
        ("父: 今日は?\n遥: うん、8時くらい。離婚したよ\n父: えっ、知らなかった\n遥: ごめん", ["遥: 離婚したよ"]),
        (
            "papá: fuiste al banco?\nCarla: tengo cita el martes. lo vendí ayer\npapá: qué alegría\nCarla: ven ya",
            ["Carla: tengo cita el martes"],
        ),
    ],
)
def test_a_remark_in_another_language_tells_of_somebody_and_is_no_reaction(talk: str, memories: list[str]) -> None:
    assert _memories(talk) == memories


def test_your_brother_is_the_others_where_two_talk() -> None:
    talk = "Mum: Your shoes are dirty. Your brother moved to Rome.\nIda: He works at Siemens now mum.\nMum: I see."
    assert _memories(talk) == ["Ida's brother moved to Rome", "Ida's brother works at Siemens now"]
    assert not _memories("Mum: Your brother moved to Rome.\nIda: ok\nBo: ok")


def test_speakers_below_a_title_are_told_by_a_name_that_comes_back() -> None:
    notes = "Daily 3.11.\nNiko: deploy went out\nSanja: blocked on the signing keys\nNiko: on leave from the 9th"
    assert _memories(notes) == ["Sanja is blocked on the signing keys", "Niko is on leave from the 9th"]


def test_what_is_told_before_is_not_pointed_at() -> None:
    assert not _memories("Ann: Hi.\nBen: I'm off work that week.\nAnn: Jo valued it at 90k.")
    assert _memories("Lim bought it in May. Siemens hired Ana Roth. Their new CTO is Lena Voss.") == [
        "Siemens hired Ana Roth",
        "Siemens's new CTO is Lena Voss",
    ]


@pytest.mark.parametrize(
    ("talk", "memories"),
    [
        ("Rob: Lise is pregnant!\nAnn: wow\nRob: I know", ["Lise is pregnant"]),
        ("Rob: hi\nAnn: Mum's out of surgery.\nRob: ok", ["Ann's mum is out of surgery"]),
        ("Rob: hi\nAnn: Did I tell you I passed my driving test\nRob: no", ["Ann passed their driving test"]),
        (
            "#data\nbo: we're freezing deploys until Jan 4\nal: ok\nbo: thx",
            ["The team is freezing deploys until Jan 4"],
        ),
        (
            "Ute: Schade. Tina hat im März ein Kind bekommen\nKai: Er ist bei meinen Eltern\nUte: Schön!",
            ["Ute: Tina hat im März ein Kind bekommen"],
        ),
        (
            "Bia: oi\nGui: minha mãe vai se mudar pra cá\nBia: não posso, parti o braço no sábado",
            ["Gui: minha mãe vai se mudar pra cá", "Bia: não posso, parti o braço no sábado"],
        ),
    ],
)
def test_news_of_others_is_told_by_name(talk: str, memories: list[str]) -> None:
    assert _memories(talk) == memories


def test_who_is_named_in_passing_is_meant_and_a_dream_is_not() -> None:
    assert _memories("user: the landlord says no.\nuser: it's a lab mix named Moose, i'm adopting him in May.") == [
        "User is adopting Moose in May"
    ]
    assert _memories("Ann: hi\nBo: i got laid off today lol\nAnn: oh") == ["Bo got laid off on 27 November 2026"]
    assert not _memories("Dreamt of the old house again, I was nine and the stairs were water.")


@pytest.mark.parametrize(
    ("said", "memories"),
    [
        (
            "His name's Callum, he's a marine engineer, lives in Leith.",
            ["Callum is a marine engineer", "Callum lives in Leith"],
        ),
        ("New boss is called Simone.", ["Bo's new boss is called Simone"]),
        ("No more night shifts!", []),
        ("I tried melatonin, gave me nightmares.", []),
        ("I sold two at the market.", []),
        ("My brother's flying in from Perth and dad doesn't know.", ["Bo's brother is flying in from Perth"]),
    ],
)
def test_who_is_new_is_told_by_name_and_nobody_acts_on_themselves(said: str, memories: list[str]) -> None:
    assert _memories(f"Ann: how was it\nBo: {said}\nAnn: ok") == memories
