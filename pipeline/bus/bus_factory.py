"""Construction of the bus from settings. Kafka's libraries are imported only if Kafka is configured."""

import asyncio
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.bus.observer import Observer
from pipeline.bus.port import Bus
from pipeline.bus.sealing.key_file import KeyFile
from pipeline.bus.sealing.key_table import KeyTable
from pipeline.bus.sealing.sealed_records import WRAPPING_NAME
from pipeline.bus.sealing.sealer import Sealer
from pipeline.bus.sqlite.bus import SqliteBus
from pipeline.bus.sqlite.log_database import LOG_FILE, partition_of_key, read_end_offsets, read_partition_count
from pipeline.errors import OutageError, SettingsError
from pipeline.ports import Clock, KeyStorage
from pipeline.settings import Settings
from schemas import topics
from schemas.ids import partition

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry


async def open_bus(
    settings: Settings,
    clock: Clock,
    *,
    observer: Observer | None = None,
    registry: "CollectorRegistry | None" = None,
    open_key_storage: Callable[[], KeyStorage] | None = None,
) -> Bus:
    """Open Kafka if RECOLLECT_KAFKA_BOOTSTRAP is set, else the log in the data directory.

    DataDirectoryLockedError and ValueError carry messages for the operator. `registry` gets Kafka's metrics.
    `open_key_storage`: opens what holds the keys of sealed records; None: nothing is sealed.
    """
    sealer = None
    if open_key_storage is not None:
        sealer = await asyncio.to_thread(_open_sealer, settings, open_key_storage(), clock)
    if settings.kafka_bootstrap is None:
        folder = settings.data_dir / "log"
        return await SqliteBus.open(
            folder, partitions=settings.partitions, clock=clock, observer=observer, sealer=sealer
        )
    from pipeline.bus.kafka.bus import KafkaBus
    from pipeline.runtime.span_exporter import open_tracer_provider

    tracer_provider = open_tracer_provider(settings.otlp_endpoint) if settings.otlp_endpoint else None
    return await KafkaBus.open(
        settings, clock=clock, observer=observer, registry=registry, tracer_provider=tracer_provider, sealer=sealer
    )


def _open_sealer(settings: Settings, storage: KeyStorage, clock: Clock) -> Sealer | None:
    """Open the keys of the log; None without sealing, unless earlier records are sealed. SealingKeyError."""
    try:
        known = storage.read(WRAPPING_NAME) is not None
        if not settings.sealing and not known:
            return None
        return Sealer(open_key_table(settings, storage, clock, create=not known), seals=settings.sealing)
    except OutageError as error:
        hint = "" if settings.kafka_bootstrap is None else " See RECOLLECT_SEALING_URI."
        raise ValueError(f"{error}{hint}") from error


@contextmanager
def open_key_file(settings: Settings) -> Iterator[KeyFile]:
    """Open the keys that encrypt the keys of people; SettingsError for an address of Vault without a token."""
    service = None
    if settings.sealing_vault_address is not None:
        from pipeline.bus.sealing.vault_transit import VaultTransit

        if settings.sealing_vault_token is None:
            raise SettingsError("RECOLLECT_SEALING_VAULT_ADDRESS needs RECOLLECT_SEALING_VAULT_TOKEN.")
        service = VaultTransit(
            settings.sealing_vault_address,
            settings.sealing_vault_token.get_secret_value(),
            key=settings.sealing_vault_key,
            mount=settings.sealing_vault_mount,
        )
    with closing(KeyFile(settings.sealing_key_file or settings.data_dir / "sealing.key", service)) as file:
        yield file


def open_key_table(settings: Settings, storage: KeyStorage, clock: Clock, *, create: bool = False) -> KeyTable:
    """Open the keys of sealed records; `create` makes a missing wrapping key. SealingKeyError, OutageError."""
    settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    with open_key_file(settings) as file:
        wrapping = file.read(create=create)
    return KeyTable(storage, wrapping, clock.now)


async def prepare_topics(settings: Settings, *, create: bool) -> list[str]:
    """List differences between Kafka's topics and the settings; `create` creates missing topics first."""
    from pipeline.bus.kafka.cluster import Cluster
    from pipeline.bus.kafka.topic_admin import TopicAdmin

    cluster = Cluster(settings)
    try:
        topic_admin = TopicAdmin(cluster)
        if create:
            await topic_admin.create_missing(topics.ALL_TOPICS)
        return await topic_admin.check(topics.ALL_TOPICS)
    finally:
        await cluster.close()


async def read_log_ends(settings: Settings, topic: str) -> tuple[dict[int, int], Callable[[str, int], int]]:
    """Read the offset of the next record of each partition, and the partition of a record's key.

    Neither opens the log for writing nor creates anything.
    """
    if settings.kafka_bootstrap is None:
        ends = await asyncio.to_thread(_read_embedded_ends, settings.data_dir / "log" / LOG_FILE, topic, settings)
        return ends, lambda key, partitions: partition_of_key(key.encode(), partitions)
    from pipeline.bus.kafka.cluster import Cluster
    from pipeline.bus.kafka.offsets import Offsets
    from pipeline.bus.kafka.topic_admin import TopicAdmin

    cluster = Cluster(settings)
    try:
        found = await Offsets(cluster, TopicAdmin(cluster)).end_offsets([topic])
    finally:
        await cluster.close()
    kafka_ends = {partition.partition: end for partition, end in found.items()}
    return kafka_ends, lambda key, partitions: partition(key.encode(), partitions)


def _read_embedded_ends(file: Path, topic: str, settings: Settings) -> dict[int, int]:
    if not file.exists():
        return dict.fromkeys(range(settings.partitions), 0)
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=5)) as db:
        return read_end_offsets(db, topic, read_partition_count(db))
