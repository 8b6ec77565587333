"""English nouns of what is somebody's own: relatives and friends, pets, and what a person has one of."""

import re
from typing import Literal

from pipeline.text.english_verbs import word_set

PETS = word_set("dog cat puppy kitten horse rabbit hamster parrot pet pets dogs cats")
PARENTS = word_set("mum mom mam dad mother father grandma grandpa granny nan nana papa mama")
RELATIVES = word_set(
    "wife husband partner girlfriend boyfriend fiance fiancé fiancée fiancee mother mom mum father dad "
    "brother sister son daughter aunt uncle cousin niece nephew grandmother grandma grandfather grandpa granddaughter "
    "grandson twin twins kid kids child children baby parent parents family friend friends buddy mate bestie boss "
    "manager supervisor colleague coworker mentor neighbor neighbour roommate flatmate teacher coach tutor doctor "
    "dentist therapist landlord stepson stepdaughter ex folks client hubby wifey mother-in-law father-in-law "
    "sister-in-law brother-in-law daughter-in-law son-in-law"
)
"""People who are somebody's."""
MEN = word_set(
    "husband hubby boyfriend fiance fiancé father dad papa grandfather grandpa brother son uncle nephew grandson "
    "stepson stepfather stepdad father-in-law brother-in-law son-in-law man boy guy"
)
WOMEN = word_set(
    "wife wifey girlfriend fiancée fiancee mother mom mum mam mama nan nana granny grandmother grandma sister "
    "daughter aunt niece granddaughter stepdaughter stepmother stepmum mother-in-law sister-in-law daughter-in-law "
    "midwife woman girl"
)
KIN = PETS | RELATIVES | word_set("team company")
_TELLING = word_set(
    "age birthday birthdate pronouns nationality citizenship religion hometown nickname hobby hobbies instrument "
    "allergy allergies intolerance intolerances medication medications meds medicine diagnosis diet gp vet physio "
    "job employer profession occupation major commute wedding anniversary rent lease flat apartment car bike laptop"
)
"""What a person has one of, whoever writes of it."""
_OWN_PAIRS = word_set(
    "blood_type blood_group blood_test blood_pressure emergency_contact job_title shoe_size ring_size dress_size "
    "house_sale parking_spot parking_space due_date driving_test driving_lesson theory_test moving_day "
    "wedding_day last_day first_day phone_number exam_results test_results in_law in_laws"
)
_SHARED = word_set(
    "child children parent parents client baby student teacher coach name surname city town address phone language "
    "languages height weight school university salary"
)
"""What things and others have too."""
HELPERS = word_set(
    "cleaner plumber electrician roofer builder nanny babysitter childminder accountant lawyer solicitor physio "
    "orthodontist surgeon midwife optician hairdresser barber vet gp doc consultant counsellor agent"
)
"""Whom somebody goes to, or has come."""
BODY = word_set(
    "knee ankle shoulder wrist back hip elbow foot leg arm neck tooth hand finger toe jaw hamstring heart stomach skin "
    "throat ear eye eyes spine"
)
_OF_WRITER = (
    HELPERS
    | BODY
    | word_set(
        "salary appointment interview flight train meeting exam deadline shift scan visa cold fever flu surgery "
        "package delivery marathon insurance prescription budget income role timezone membership subscription passport "
        "licence license mortgage loan thesis dissertation novel cholesterol cast crutches stitches braces asthma "
        "boiler fridge freezer dishwasher roof bathroom attic allotment house balcony heating "
        "gym contract probation promotion pension tattoo piercing router honeymoon engagement holiday rehearsal "
        "audition offer application housewarming graduation reunion biopsy chemo physio therapy desk"
    )
)
"""What is the writer's own as a subject: `flight is delayed`, but not as a field: `Package: numpy`."""
OwnNoun = Literal["own", "shared", "subject"]


def own_noun(phrase: str) -> OwnNoun | None:
    """Return how surely a noun phrase without an owner is its writer's: always, beside other fields, or as a subject.

    >>> own_noun("Shoe size"), own_noun("city"), own_noun("flight"), own_noun("file size")
    ('own', 'shared', 'subject', None)
    """
    words = phrase.lower().split()
    if not words or "with" in words or words[-1] in ("friend", "friends", "family", "team", "company"):
        return None
    if words[-1] in _SHARED:
        return "shared"
    if words[-1] in _TELLING | KIN or "_".join(words[-2:]) in _OWN_PAIRS:
        return "own"
    return "subject" if words[-1] in _OF_WRITER else None


def is_plural(noun: str) -> bool:
    """Return whether a noun has the form of a plural.

    >>> is_plural("allergies"), is_plural("boss"), is_plural("bus")
    (True, False, False)
    """
    return re.search(r"(?:[^aisu]s|children|folks)$", noun) is not None
