"""Checks of the configured components: log, tables, embedder, language model, Kafka, object store."""

import asyncio
import sqlite3
import time
from collections import Counter
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from pydantic import BaseModel

from app.cli.diagnostics.check_runner import DAMAGED_FILE_REMEDY, CheckResult, passed
from app.handled_submissions import REMEDY as LOST_TABLES_REMEDY
from app.resources import (
    CATALOG_FOLDER,
    embedder_from_settings,
    index_config_from_settings,
    open_sealing_keys,
    sealing_uri,
    tables_uri,
)
from pipeline.bus.bus_factory import prepare_topics, read_log_ends
from pipeline.bus.records import SEALED_HEADER
from pipeline.bus.sealing.sealed_records import BLOCKS, ends_by_itself, parse_key_label
from pipeline.bus.sqlite.log_database import LOG_FILE, read_partition_count
from pipeline.errors import EndpointUnavailableError, OutageError
from pipeline.models import open_language_model
from pipeline.ports import UnusableReplyError
from pipeline.settings import Settings
from pipeline.store.generations.generation_registry import open_generations
from pipeline.store.log_consistency import REMEDY, find_settings_beyond, find_stored_mismatch
from pipeline.store.store_factory import verify_store
from pipeline.store.tables.settings_catalog import stored_positions
from schemas.topics import DOCUMENTS_SUBMITTED, SETTINGS_CHANGED

MAX_FULL_CHECK_BYTES = 1024**3
"""Largest log that is checked completely; a larger one would take too long."""
SLOW_EMBEDDER_SECONDS = 2.0


class _OneWordAnswer(BaseModel):
    word: str


def log_path(settings: Settings) -> Path:
    return settings.data_dir / "log" / LOG_FILE


async def check_log(settings: Settings) -> list[CheckResult]:
    """Check that the embedded log is undamaged, has the configured partitions and no dead letters."""
    if settings.kafka_bootstrap is not None:
        return [passed("in Kafka")]
    file = log_path(settings)
    if not file.exists():
        return [passed(f"none in {file.parent} yet: the first start creates it")]
    return await asyncio.to_thread(_check_log_blocking, file, settings.partitions)


def _check_log_blocking(file: Path, partitions: int) -> list[CheckResult]:
    size = file.stat().st_size
    problems: list[CheckResult] = []
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=5)) as db:
        if size <= MAX_FULL_CHECK_BYTES:
            (integrity,) = db.execute("PRAGMA quick_check(1)").fetchone()
            if integrity != "ok":
                return [("problem", f"{file} is damaged: {integrity}", DAMAGED_FILE_REMEDY)]
        created_with = read_partition_count(db)
        if created_with != partitions:
            message = f"It has {created_with} partitions, the settings say {partitions}."
            remedy = f"Set RECOLLECT_LOG_PARTITIONS={created_with}: the number can't change."
            problems.append(("problem", message, remedy))
        dead_letters = dict(
            db.execute(
                "SELECT t.name, count(*) FROM records r JOIN topics t ON t.id = r.topic"
                " WHERE t.name LIKE '%.dlq' GROUP BY t.name"
            )
        )
        (records,) = db.execute("SELECT count(*) FROM records").fetchone()
    for topic, count in dead_letters.items():
        remedy = "`recollect dlq list` shows the errors; `recollect dlq redrive` tries again after a fix."
        problems.append(("warning", f"{count:,} dead letter{'' if count == 1 else 's'} in {topic}.", remedy))
    checked = "checked completely" if size <= MAX_FULL_CHECK_BYTES else "too large to be checked completely"
    return problems or [passed(f"{records:,} records, {size / 1024**2:.0f} MiB in {file.parent}, {checked}")]


async def check_sealing_keys(settings: Settings) -> list[CheckResult]:
    """Check that the keys of the sealed records of the embedded log are there; processes on Kafka see as they read."""
    file = log_path(settings)
    if settings.kafka_bootstrap is not None or not file.exists():
        return [passed("no embedded log to look for")]
    records = await asyncio.to_thread(_sealed_records_by_block, file)
    if not records:
        return [passed("not used: no record is sealed")]
    total, missing = sum(records.values()), records.keys() - set(open_sealing_keys(settings).names(BLOCKS))
    if not missing:
        return [passed(f"there for all of {total:,} sealed records")]
    count = sum(records[block] for block in missing)
    message = f"{count:,} of {total:,} sealed records can't be read: their keys are not in {sealing_uri(settings)}."
    return [("problem", message, "`recollect sealing restore` adds the missing ones from a backup of the keys.")]


def _sealed_records_by_block(file: Path) -> Counter[str]:
    """Count the sealed records by the block of their key, without those whose keys end by themselves."""
    query = "SELECT json_extract(headers, '$.' || ?) FROM records WHERE headers IS NOT NULL"
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=5)) as db:
        labels = (parse_key_label(name) for (name,) in db.execute(query, (SEALED_HEADER,)) if name is not None)
        return Counter(label[0] for label in labels if label is not None and not ends_by_itself(label))


async def newest_record_at(settings: Settings) -> datetime | None:
    """Return the time of the last record in the embedded log; None without a log or a record."""
    file = log_path(settings)
    return await asyncio.to_thread(_newest_record_at_blocking, file) if file.exists() else None


def _newest_record_at_blocking(file: Path) -> datetime | None:
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=5)) as db:
        row = db.execute("SELECT ts FROM records ORDER BY position DESC LIMIT 1").fetchone()
    return None if row is None else datetime.fromtimestamp(row[0] / 1000, UTC)


async def check_tables(settings: Settings) -> list[CheckResult]:
    """Check that the served tables fit the settings."""
    uri = tables_uri(settings)
    generations = open_generations(uri, settings.storage_options(uri))
    active = (await generations.read_active()).current
    config = active.index_config or index_config_from_settings(settings)
    embedder = embedder_from_settings(settings, config)
    exists = await verify_store(
        generations.uri(active),
        dimensions=embedder.dimensions,
        embedder=embedder.name,
        shards=config.shards,
        shared=settings.kafka_bootstrap is not None,
        storage=settings.storage_options(uri),
    )
    if not exists:
        if settings.kafka_bootstrap is None:
            submitted, _ = await read_log_ends(settings, DOCUMENTS_SUBMITTED.name)
            if any(submitted.values()):
                return [("problem", f"none at {uri}, but the log holds documents.", LOST_TABLES_REMEDY)]
        return [passed(f"none at {uri} yet: the first start creates them")]
    ends, _ = await read_log_ends(settings, SETTINGS_CHANGED.name)
    for positions in await asyncio.to_thread(stored_positions, settings.data_dir / CATALOG_FOLDER):
        if problem := find_settings_beyond(ends, positions):
            return [("problem", f"Namespaces and keys do not belong to the log: {problem}", REMEDY)]
    read_ends = partial(read_log_ends, settings, DOCUMENTS_SUBMITTED.name)
    if problem := await find_stored_mismatch(generations.uri(active), settings.storage_options(uri), read_ends):
        return [("problem", f"They do not belong to the log: {problem}", REMEDY)]
    message = f"generation {active.number} at {uri}, vectors of {embedder.name}"
    if config.chunk_size != settings.chunk_size:
        remedy = "`recollect replay` rebuilds the tables with the settings."
        return [("warning", f"{message}, but chunks of {config.chunk_size} characters.", remedy)]
    return [passed(message)]


async def check_embedder(settings: Settings) -> list[CheckResult]:
    """Check that the embedder answers soon, with vectors of the configured length."""
    embedder = embedder_from_settings(settings, index_config_from_settings(settings))
    if settings.embedder == "none":
        return [passed("none: searches use words only")]
    await embedder.embed_documents(["The first sentence loads the model."])
    began = time.perf_counter()
    (vector,) = await embedder.embed_documents(["A sentence to see that it answers."])
    seconds = time.perf_counter() - began
    if len(vector) != embedder.dimensions:
        message = f"{embedder.name} returns {len(vector)} numbers, not {embedder.dimensions}."
        return [("problem", message, f"Set RECOLLECT_EMBEDDER_DIMENSIONS={len(vector)}.")]
    message = f"{embedder.name} with {embedder.dimensions} dimensions answered in {seconds * 1000:.0f} ms"
    if seconds > SLOW_EMBEDDER_SECONDS:
        remedy = "Every search waits for it: use a closer endpoint, or RECOLLECT_EMBEDDER=e5-encoder."
        return [("warning", f"Slow: {message}.", remedy)]
    return [passed(message)]


async def check_language_model(settings: Settings) -> list[CheckResult]:
    """Check that the language model answers in the requested JSON schema."""
    model = open_language_model(settings)
    if model is None:
        return [passed("none is configured: rules extract the memories")]
    began = time.perf_counter()
    try:
        await model.generate("Answer with one word, in JSON.", "What is the opposite of hot?", _OneWordAnswer)
    except EndpointUnavailableError as error:
        remedy = "Check RECOLLECT_LLM_BASE_URL and its key. Documents wait for their memories until it answers."
        return [("problem", str(error), remedy)]
    except UnusableReplyError as error:
        remedy = "Use a model that can answer in JSON; until then rules do its work."
        return [("warning", str(error), remedy)]
    finally:
        await model.aclose()
    return [passed(f"{model.name} answered in {time.perf_counter() - began:.1f} s")]


async def check_kafka(settings: Settings) -> list[CheckResult]:
    """Check that the cluster answers and has the expected topics."""
    bootstrap = settings.kafka_bootstrap
    if bootstrap is None:
        return [passed("not used: the log is embedded")]
    try:
        differences = await prepare_topics(settings, create=False)
    except OutageError as error:
        remedy = (
            "Check RECOLLECT_KAFKA_BOOTSTRAP and the other RECOLLECT_KAFKA_… settings, that the brokers run, and that"
            " this machine reaches the addresses that they advertise."
        )
        return [("problem", str(error), remedy)]
    remedy = "`recollect topics` creates missing topics and lists the other differences."
    return [("warning", difference, remedy) for difference in differences] or [
        passed(f"{bootstrap} answers, and the topics are as they should be")
    ]


async def check_object_store(settings: Settings) -> list[CheckResult]:
    """Check that every configured object store can write, read and delete an object."""
    uris = [uri for uri in (settings.lance_uri, settings.blob_uri) if uri is not None and "://" in uri]
    if not uris:
        return [passed(f"not used: files are in {settings.data_dir}")]
    # Imported here because deployments without an object store have no use for it.
    from pipeline.store.blobs.object_store_client import probe_object_store  # noqa: PLC0415

    results: list[CheckResult] = []
    for uri in dict.fromkeys(uris):
        seconds = await probe_object_store(uri, settings.storage_options(uri))
        results.append(passed(f"{uri} wrote, read and deleted an object in {seconds * 1000:.0f} ms"))
    return results
