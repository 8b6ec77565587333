"""`python -m bench.personal_questions`: learn anew which questions of an assistant are of somebody's life.

Writes `questions_*.npy` in `pipeline/memory/languages`, for both models: a logistic regression of the vectors of
`bench.datasets.personal_questions`, open half. `--check` prints how many of the locked half are told right.
"""

import argparse
import asyncio

import numpy as np

from bench.datasets.personal_questions import personal_questions
from bench.short_messages import MODELS, learn_classifier
from pipeline.memory.languages.short_messages import questions_file
from pipeline.models import open_embedder

_COUNT = 250
"""What each kind counts together."""


def main() -> None:
    """Write the files, or print the table."""
    options = argparse.ArgumentParser(prog="python -m bench.personal_questions", description=__doc__)
    options.add_argument("--check", action="store_true")
    asyncio.run(_run(check=options.parse_args().check))


async def _run(*, check: bool) -> None:
    for name in MODELS:
        embedder = open_embedder(name)
        asked = personal_questions(locked=False)
        kinds = [([text for text, is_own in asked if is_own == kind], float(kind), _COUNT) for kind in (True, False)]
        learned = await learn_classifier(embedder, kinds)
        if not check:
            learned.save(questions_file(embedder.name))
            print(questions_file(embedder.name))
            continue
        held = personal_questions(locked=True)
        found = learned.log_odds(np.stack(await embedder.embed_documents([text for text, _ in held]))) > 0
        for kind, title in ((True, "of somebody's life"), (False, "of the task at hand")):
            told = [bool(is_told) == kind for is_told, (_, is_own) in zip(found, held, strict=True) if is_own == kind]
            print(f"| {embedder.name} | {title} | {len(told)} | {sum(told)} |")


if __name__ == "__main__":
    main()
