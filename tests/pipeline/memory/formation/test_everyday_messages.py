"""What people write every day: small letters, tails after a comma, instructions, appointments, kin, copied chats."""

from datetime import date

import pytest

from pipeline.memory.formation.rule_based_extraction import extract_facts

MONDAY = date(2026, 11, 23)


@pytest.mark.parametrize(
    ("message", "facts"),
    [
        ("rasmus and i broke up \U0001f622", ["Rasmus and User broke up"]),
        ("i relocated to Riga for work, still unpacking lol", ["User relocated to Riga for work"]),
        ("I'm allergic to peanuts and shellfish, so no thai places", ["User is allergic to peanuts and shellfish"]),
        ("we have twins, Ida and Noel, they're 4", ["User has twins, Ida and Noel"]),
        ("gave up coffee last week, only drink rooibos now", ["User gave up coffee in the week of 16 November 2026"]),
        ("no i don't smoke, quit in 2020", ["User doesn't smoke"]),
        ("my sister's expecting a baby in February", ["User's sister is expecting a baby in February"]),
        ("mum's birthday is on 3 March", ["User's mum's birthday is on 3 March"]),
        ("The kids love their aquarium", ["User's kids love their aquarium"]),
        ("dinner with Marc on Saturday", ["User has dinner with Marc on Saturday"]),
        ("physio comes on tuesdays", ["User's physio comes on tuesdays"]),
        ("I drink maybe two beers a week", ["User drinks maybe two beers a week"]),
        ("I'm coeliac, so what can I bake?", ["User is coeliac"]),
        ("I live in Rome, can you convert that?", ["User lives in Rome"]),
        ("pls keep ur answers short, i read on my phone", ["User asks: keep your answers short"]),
        (
            "I write my notes in Dutch but please answer in English",
            ["User writes their notes in Dutch", "User asks: answer in English"],
        ),
        ("I'm colour-blind so avoid red charts please", ["User is colour-blind", "User asks: avoid red charts"]),
        ("don't call me Robert, it's Bob", ["User wants to be called Bob"]),
        ("Hi, I'm Bob, nice to meet you", ["User is Bob"]),
        ("Hello all, my name's Maya, I work in Lyon", ["User's name is Maya", "User works in Lyon"]),
        ("my name is Maya, I'm 33", ["User's name is Maya", "User is 33"]),
        (
            "I'm Nora, 34, product designer at Volvo, married to Erik, two kids, Alma (6) and Vidar (3)",
            [
                "User is Nora",
                "User is 34",
                "User is a product designer at Volvo",
                "User is married to Erik",
                "User has two kids, Alma (6) and Vidar (3)",
            ],
        ),
        ("single, 29, from Cork", ["User is single", "User is 29", "User is from Cork"]),
        ("I'm a vegetarian, lactose intolerant", ["User is a vegetarian", "User is lactose intolerant"]),
        ("I'm a nurse, tired and hungry", ["User is a nurse, tired and hungry"]),
        ("I'm Ana, 34, do you cook?", ["User is Ana, 34"]),
        ("I live in Lisbon with my cat Pixel", ["User lives in Lisbon", "User lives with their cat Pixel"]),
        ("getting married in june!", ["User is getting married in June"]),
        ("we test drove the ex30", ["User test drove the ex30"]),
        ("moved to the 21st, legal needs another week", []),
        ("I go by Sam", ["User is called Sam"]),
        ("people call me a fool", []),
        ("my back hurts", ["User's back hurts"]),
        ("my desk is by the window", ["User's desk is by the window"]),
        ("I'm by the window", []),
        ("launch slipped, it's a mess", []),
        ("we're 6 people for dinner", []),
        ("I'll quit if you quit", []),
        ("retro is every other friday", ["User has retro every other Friday"]),
        ("Please bring no nuts, as Oskar has a severe allergy", ["Oskar has a severe allergy"]),
        ("Tom left", ["Tom left"]),
        ("it left", []),
        ("kitchen is closed", []),
        ("the bug in the importer is still open", ["The bug in the importer is still open"]),
        ("down to 81 kg", ["User is down to 81 kg"]),
        ("I teach at st. mary's school in Leeds", ["User teaches at st. mary's school in Leeds"]),
        ("guys I got into the nursing program in Oslo!!", ["User got into the nursing program in Oslo"]),
        ("not really, I have two cats", ["User has two cats"]),
        ("no, I have two cats", ["User has two cats"]),
        ("also starting at Fennel in May", ["User is also starting at Fennel in May"]),
        ("My dad: head torch", []),
        ("My dad: diabetic", ["User's dad is diabetic"]),
        ("not a fan of horror movies", ["User is not a fan of horror movies"]),
        ("I'm a big fan of yours", []),
        ("can you keep answers short, i'm in Rome", ["User is in Rome", "User asks: keep answers short"]),
        ("i'm a vet during the day btw", ["User is a vet during the day"]),
        ("could you always answer in French?", ["User asks: always answer in French"]),
        ("do you always answer in French?", []),
        ("can you write a reply to my landlord?", []),
        ("it's Tomasz here", ["User is Tomasz"]),
        ("it's Christmas", []),
        ("Write a reply to my landlord Omar.", ["User's landlord is called Omar"]),
        ("write a poem in Spanish", []),
        ("Give me 10 links for pasta recipes", []),
        ("I live downtown and always use the metro.", ["User lives downtown", "User always uses the metro"]),
        ("I have a dog, don't keep cats.", ["User has a dog", "User doesn't keep cats"]),
        (
            "Always give me the sources because I'm a student",
            ["User is a student", "User asks: always give me the sources"],
        ),
        ("use metric units because I'm German", ["User is German", "User asks: use metric units"]),
        ("call me tomorrow", []),
        ("please call me back", []),
        ("I do Pilates twice a week.", ["User does Pilates twice a week"]),
        ("I love my mom's cooking", ["User loves their mom's cooking"]),
        ("I live near Ana's back yard.", ["User lives near Ana's back yard"]),
        ("Visa is my biggest client.", ["Visa is User's biggest client"]),
        ("My favourite food is grilled sardines.", ["User's favourite food is grilled sardines"]),
        ("My favourite sport is swimming", ["User's favourite sport is swimming"]),
        ("so i got promoted!!", ["User got promoted"]),
        ("New York is great", []),
        ("using namespace std;", []),
        ("back to top", []),
        ("Email is sent to the customer when the order ships.", ["Email is sent to the customer when the order ships"]),
        ("on my way, see you soon", []),
        ("I'm working nights at the hospital", ["User is working nights at the hospital"]),
        ("I moved to the US in May", ["User moved to the US in May"]),
        ("I'm with Lidl's IT dept now", ["User is with Lidl's IT dept now"]),
        ("been vegan since january", ["User has been vegan since January"]),
        ("the rome trip is off, they cancelled the flight", ["The Rome trip is off"]),
        ("the rash is gone", ["The rash is gone"]),
        ("we're four now", []),
        ("The neighbours are drilling AGAIN", []),
        ("I want a tattoo", ["User wants a tattoo"]),
        ("no more coffee for me", ["User no longer has coffee"]),
        ("Anna: Drew married my sister.", ["Drew married Anna's sister"]),
        (
            "Please remember that my daughter is called Ida and she's lactose intolerant.",
            ["User's daughter is called Ida", "User's daughter is lactose intolerant"],
        ),
        (
            "always answer in German, and keep it under 100 words",
            ["User asks: always answer in German, and keep it under 100 words"],
        ),
        ("I just turned 40", ["User just turned 40"]),
        ("Dear diary, I broke up with Felix.", ["User broke up with Felix"]),
        ("Standup\n- Kim: fixed the login bug", []),
        ("Privacy policy. We use cookies. We store your data in Ireland.", []),
        ("Terms of service. We are based in Delaware.", []),
        ("Ignore what I said about Lisbon, we're going to Porto instead", ["User is going to Porto instead"]),
        ("we adopted a dog, her name is Pixel", ["User adopted a dog", "User's dog is called Pixel"]),
        ("I have bad knees so no running.", ["User has bad knees"]),
        ("Mom called, her knee surgery is on 3 May.", ["User's mom's knee surgery is on 3 May"]),
        (
            "can you write a cover letter? I'm a nurse with 12 years of experience",
            ["User is a nurse with 12 years of experience"],
        ),
        ('Reply to this: "I hate this hotel and my room was dirty." I own a hotel.', ["User owns a hotel"]),
        ("Write a story about a sailor. I live in Genoa.", []),
        ("Song lyrics: I was born in the USA", []),
        ("Release 2.4 is planned for 12 June.", ["Release 2.4 is planned for 12 June"]),
        (
            "I need a present for my dad. He's turning 70 in May.",
            ["User needs a present for their dad", "User's dad is turning 70 in May"],
        ),
        ("[10:14] carol: hi\n[10:15] dave: I live in Oslo\n[10:16] carol: ty", ["Dave lives in Oslo"]),
        ("Mieszkam w Krakowie i mam dwa koty.", ["User: Mieszkam w Krakowie", "User: mam dwa koty"]),
        (
            "Ho due gatti e abito a Torino con mia sorella.",
            ["User: Ho due gatti", "User: abito a Torino con mia sorella"],
        ),
        ("Our lease ends next month", ["User's lease ends in December 2026"]),
        ("The deadline was pushed to Feb 14", ["The deadline was pushed to Feb 14"]),
        ("Priya covers for me", ["Priya covers for User"]),
    ],
)
def test_a_message_gives_what_it_says_of_its_writer(message: str, facts: list[str]) -> None:
    assert [fact.text for fact in extract_facts(message, MONDAY)] == facts


@pytest.mark.parametrize(
    ("message", "fact"),
    [
        ("My sister Clara lives in Oslo", "Ann's sister Clara lives in Oslo"),
        ("My husband Ali works at Bosch", "Ann's husband Ali works at Bosch"),
        ("My cousin Pedro, a pilot, lives in Porto", "Ann's cousin Pedro, a pilot, lives in Porto"),
        ("My mum has diabetes", "Ann's mum has diabetes"),
        ("My flatmate Jonas moved out", "Ann's flatmate Jonas moved out"),
        ("My wife is pregnant", "Ann's wife is pregnant"),
        ("my kid's allergic to cashews but peanuts are fine", "Ann's kid is allergic to cashews"),
        ("My daughter's vegetarian", "Ann's daughter is vegetarian"),
        ("I speak Turkish", "Ann speaks Turkish"),
        ("I wear glasses", "Ann wears glasses"),
        ("I never drink alcohol", "Ann never drinks alcohol"),
    ],
)
def test_a_plain_fact_is_kept_whoever_else_speaks(message: str, fact: str) -> None:
    assert [found.text for found in extract_facts(f"Ann: {message}\nBen: Nice!")] == [fact]
    assert [found.text for found in extract_facts(f"Ann: {message}")] == [fact]


@pytest.mark.parametrize(
    "remark", ["I'm so happy about everything", "I really love some series", "We had a blast", "I won't give up"]
)
def test_small_talk_among_people_is_not_kept(remark: str) -> None:
    assert extract_facts(f"Ann: {remark}\nBen: Nice!") == []


def test_she_is_the_person_spoken_of_to_an_assistant_before() -> None:
    chat = (
        "User: A gift idea? It's my mom, she loves gardening.\nAssistant: A raised bed?\n"
        "User: She lives in a flat in Leeds."
    )
    assert [fact.text for fact in extract_facts(chat)] == [
        "User's mom loves gardening",
        "User's mom lives in a flat in Leeds",
    ]


def test_names_above_copied_messages_are_their_speakers() -> None:
    copied = "Mara  9:02 AM\nI moved to Lisbon\nDeepak  9:05 AM\nnp. I switched the build to Bun\n"
    assert [fact.text for fact in extract_facts(copied)] == [
        "Mara moved to Lisbon",
        "Deepak switched the build to Bun",
    ]


def test_small_names_above_copied_messages_are_speakers_too() -> None:
    copied = "alice \u2014 Today at 10:31\njust got a new GPU\nbob \u2014 Today at 10:32\nI'm still on a 1060\n"
    assert [fact.text for fact in extract_facts(copied)] == ["Alice just got a new GPU", "Bob is still on a 1060"]


def test_a_game_of_roles_goes_on_in_the_next_messages() -> None:
    chat = "user: Imagine I'm a knight.\nassistant: Hi!\nuser: My sword is called Dawn."
    assert extract_facts(chat) == []


def test_minutes_say_we_of_the_team() -> None:
    minutes = "# Minutes, 2026-11-16\n\nAttendees: Ines, Omar\n\n- We decided to keep Kafka.\n- Omar leaves in May.\n"
    assert [fact.text for fact in extract_facts(minutes)] == ["The team decided to keep Kafka", "Omar leaves in May"]


def test_a_forwarded_mail_says_nothing_of_its_sender() -> None:
    mail = (
        "From: Ann <a@x.example>\nTo: Bob <b@x.example>\n\nI adopted a cat.\n\n---------- Forwarded message ---------\n"
        "From: Insurance <i@x.example>\nSubject: Card\n\nI am Mr Schulz and I live in Ulm.\n"
    )
    assert [fact.text for fact in extract_facts(mail)] == ["Ann adopted a cat"]


@pytest.mark.parametrize(
    ("said", "memories"),
    [
        (
            "Ann: yeah still a data analyst at the NHS\nBo: nice, I see\nAnn: I know",
            ["Ann is still a data analyst at the NHS"],
        ),
        ("Ann: i don't eat shellfish tho\nBo: ok", ["Ann doesn't eat shellfish"]),
        ("Ann: also i stopped eating meat btw\nBo: no way", ["Ann stopped eating meat"]),
        ("Ann: mum is staying with me\nBo: good", ["Ann's mum is staying with Ann"]),
        ("Ann: we're getting a puppy!!\nBo: wow", ["Ann is getting a puppy"]),
        (
            "Ann: flying to Delhi for my cousin's wedding\nBo: wow",
            ["Ann is flying to Delhi for their cousin's wedding"],
        ),
        (
            "Ann: physio every wednesday with Marek\nBo: I see\nAnn: I know",
            ["Ann has physio every Wednesday with Marek"],
        ),
        ("Ann: going to be a great night\nBo: yes", []),
        ("Ann: I didn't eat the cake\nBo: ok", []),
        ("Ann: stop eating my cake\nBo: never", []),
    ],
)
def test_friends_tell_each_other_what_lasts(said: str, memories: list[str]) -> None:
    assert [fact.text for fact in extract_facts(said, MONDAY)] == memories
