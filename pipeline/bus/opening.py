"""The bus that the settings ask for. Kafka's libraries are imported only where it is Kafka."""

from typing import TYPE_CHECKING

from pipeline.bus.log import LogBus
from pipeline.bus.port import Bus
from pipeline.observing import Observer
from pipeline.ports import Clock
from pipeline.settings import Settings
from schemas import topics

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

    from pipeline.bus.kafka.cluster import KafkaOptions


async def open_bus(
    settings: Settings,
    clock: Clock,
    *,
    observer: Observer | None = None,
    registry: "CollectorRegistry | None" = None,
) -> Bus:
    """Kafka where RECOLLECT_KAFKA_BOOTSTRAP is set, else the log in the data directory.

    DataDirectoryLockedError and ValueError carry messages for the operator. Metrics and spans are Kafka's.
    """
    if settings.kafka_bootstrap is None:
        folder = settings.data_dir / "log"
        return await LogBus.open(folder, partitions=settings.partitions, clock=clock, observer=observer)
    from pipeline.bus.kafka.bus import KafkaBus
    from pipeline.bus.kafka.spans import open_tracers

    options = kafka_options(settings, settings.kafka_bootstrap)
    tracers = None if settings.otlp_endpoint is None else open_tracers(settings.otlp_endpoint)
    return await KafkaBus.open(options, clock=clock, observer=observer, registry=registry, tracers=tracers)


async def see_to_topics(settings: Settings, bootstrap: str, *, create: bool) -> list[str]:
    """What about Kafka's topics is not as the settings say, after creating what is missing where asked to."""
    from pipeline.bus.kafka.cluster import Cluster
    from pipeline.bus.kafka.topics import Topics

    cluster = Cluster(kafka_options(settings, bootstrap))
    try:
        found = Topics(cluster)
        if create:
            await found.ensure(topics.ALL)
        return await found.check(topics.ALL)
    finally:
        await cluster.close()


def kafka_options(settings: Settings, bootstrap: str) -> "KafkaOptions":
    """The part of the settings that is about Kafka."""
    from pipeline.bus.kafka.cluster import KafkaOptions

    password = settings.kafka_password
    return KafkaOptions(
        bootstrap=bootstrap,
        partitions=settings.kafka_partitions,
        replication=settings.kafka_replication,
        min_insync_replicas=settings.kafka_min_insync_replicas,
        keep_days=settings.kafka_keep_days,
        protocol=settings.kafka_security_protocol,
        mechanism=settings.kafka_sasl_mechanism,
        username=settings.kafka_username or "",
        password=password.get_secret_value() if password else "",
        ca_file=settings.kafka_ca_file,
        session=settings.kafka_session_seconds,
    )
