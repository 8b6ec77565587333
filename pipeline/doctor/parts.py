"""The parts that the settings name: log, tables, embedder, language model, Kafka, object store."""

import asyncio
import sqlite3
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel

from pipeline.bus.opening import see_to_topics
from pipeline.doctor.findings import Found, well
from pipeline.errors import AwayError
from pipeline.foundation import embedder_of, model_of, recipe_of, tables_at
from pipeline.ports import UnusableError
from pipeline.settings import Settings
from pipeline.store.generations import generations_at
from pipeline.store.opening import agrees

WHOLE_BYTES = 1024**3
"""Up to here a log is read whole; reading a larger one is for whoever has the time."""
SLOW_EMBEDDER_SECONDS = 2.0


class _Word(BaseModel):
    word: str


def log_file(settings: Settings) -> Path:
    """The embedded log."""
    return settings.data_dir / "log" / "log.db"


async def log(settings: Settings) -> list[Found]:
    """The embedded log: readable, whole, made with these partitions, and nothing parked."""
    if settings.kafka_bootstrap is not None:
        return [well("Kafka has it")]
    file = log_file(settings)
    if not file.exists():
        return [well(f"none in {file.parent} yet: the first start makes it")]
    return await asyncio.to_thread(_log, file, settings.partitions)


def _log(file: Path, partitions: int) -> list[Found]:
    size, found = file.stat().st_size, list[Found]()
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=5)) as db:
        (made,) = db.execute("SELECT value FROM facts WHERE name = 'partitions'").fetchone()
        if int(made) != partitions:
            back = f"Set RECOLLECT_PARTITIONS={made}: the number can't change."
            found.append(("problem", f"It has {made} partitions, the settings say {partitions}.", back))
        if size <= WHOLE_BYTES:
            (said,) = db.execute("PRAGMA quick_check(1)").fetchone()
            if said != "ok":
                restore = "Stop the service, and restore the data directory from a backup."
                found.append(("problem", f"{file} is damaged: {said}", restore))
        parked = dict(
            db.execute(
                "SELECT t.name, count(*) FROM records r JOIN topics t ON t.id = r.topic"
                " WHERE t.name LIKE '%.dlq' GROUP BY t.name"
            )
        )
        (records,) = db.execute("SELECT count(*) FROM records").fetchone()
    for topic, count in parked.items():
        look = "`recollect dlq list` says why; `recollect dlq replay` tries again after the cause is gone."
        found.append(("warning", f"{count:,} dead letters in {topic}.", look))
    checked = "read whole" if size <= WHOLE_BYTES else "too large to be read whole here"
    return found or [well(f"{records:,} records, {size / 1024**2:.0f} MiB in {file.parent}, {checked}")]


async def newest(settings: Settings) -> datetime | None:
    """When the embedded log took its last record."""
    file = log_file(settings)
    return await asyncio.to_thread(_newest, file) if file.exists() else None


def _newest(file: Path) -> datetime | None:
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=5)) as db:
        found = db.execute("SELECT ts FROM records ORDER BY position DESC LIMIT 1").fetchone()
    return None if found is None else datetime.fromtimestamp(found[0] / 1000, UTC)


async def tables(settings: Settings) -> list[Found]:
    """The tables that are served: there, and made with what the settings ask for."""
    uri = tables_at(settings)
    generations = generations_at(uri, settings.storage(uri))
    served = (await generations.served()).current
    recipe = served.recipe or recipe_of(settings)
    embedder = embedder_of(settings, recipe)
    made = await agrees(
        generations.uri(served),
        dimensions=embedder.dimensions,
        embedder=embedder.name,
        shards=recipe.shards,
        shared=settings.kafka_bootstrap is not None,
        storage=settings.storage(uri),
    )
    if not made:
        return [well(f"none at {uri} yet: the first start makes them")]
    says = f"generation {served.number} at {uri}, vectors of {embedder.name}"
    if recipe.chunk_size != settings.chunk_size:
        again = "`recollect replay` makes tables with what the settings say."
        return [("warning", f"{says}, but chunks of {recipe.chunk_size} characters.", again)]
    return [well(says)]


async def embedder(settings: Settings) -> list[Found]:
    """It answers, with as many numbers as it should, and soon."""
    asked = embedder_of(settings, recipe_of(settings))
    if settings.embedder == "none":
        return [well("none: searches go by words alone")]
    began = time.perf_counter()
    (vector,) = await asked.documents(["A sentence to see that it answers."])
    took = time.perf_counter() - began
    if len(vector) != asked.dimensions:
        right = f"Set RECOLLECT_EMBEDDER_DIMENSIONS={len(vector)}."
        return [("problem", f"{asked.name} gives {len(vector)} numbers, not {asked.dimensions}.", right)]
    says = f"{asked.name} with {asked.dimensions} dimensions answered in {took * 1000:.0f} ms"
    if took > SLOW_EMBEDDER_SECONDS:
        near = "Every search waits for it: use one that is nearer, or RECOLLECT_EMBEDDER=wordllama."
        return [("warning", f"Slow: {says}.", near)]
    return [well(says)]


async def language_model(settings: Settings) -> list[Found]:
    """It answers, in the shape that it is asked for."""
    model = model_of(settings)
    if model is None:
        return [well("none is configured: rules find the memories")]
    began = time.perf_counter()
    try:
        await model.ask("Answer with one word, in JSON.", "What is the opposite of hot?", _Word)
    except AwayError as error:
        reach = "See RECOLLECT_LLM_BASE_URL and its key. Until it answers, documents wait for their memories."
        return [("problem", str(error), reach)]
    except UnusableError as error:
        other = "Take a model that can answer in JSON; until then rules do its work."
        return [("warning", str(error), other)]
    finally:
        await model.aclose()
    return [well(f"{model.name} answered in {time.perf_counter() - began:.1f} s")]


async def kafka(settings: Settings) -> list[Found]:
    """The cluster answers, and has the topics as they should be."""
    bootstrap = settings.kafka_bootstrap
    if bootstrap is None:
        return [well("not used: the log is embedded")]
    differences = await see_to_topics(settings, bootstrap, create=False)
    make = "`recollect topics` creates what is missing and says what else to do."
    return [("warning", one, make) for one in differences] or [
        well(f"{bootstrap} answers, and has the topics as they should be")
    ]


async def object_store(settings: Settings) -> list[Found]:
    """It takes, keeps, gives back and lets go of an object, on condition where processes share tables."""
    uris = [uri for uri in (settings.lance_uri, settings.blob_uri) if uri is not None and "://" in uri]
    if not uris:
        return [well(f"not used: files are in {settings.data_dir}")]
    from pipeline.store.objects import probed  # noqa: PLC0415 - one process with its tables in a folder has no use for it

    found: list[Found] = []
    for uri in dict.fromkeys(uris):
        took = await probed(uri, settings.storage(uri))
        found.append(well(f"{uri} took, kept and removed an object in {took * 1000:.0f} ms"))
    return found
