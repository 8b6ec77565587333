"""Fixtures of every test, and the order of tests."""

import asyncio
import gc
from collections.abc import Generator, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from coverage import Coverage
from hypothesis import HealthCheck, settings
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

from bench.service_process import Server
from tests.support.file_scheduling import BrokerSharingScheduling
from tests.support.kafka_cleanup import delete_topics_and_groups
from tests.support.preforked_server import preforked_servers
from tools.kafka_broker import DockerBroker, LocalBroker, run_broker
from tools.kafka_installation import KafkaUnavailableHereError
from tools.s3_server import S3Server, run_s3_server

TESTS = Path(__file__).parent
LONG_TEST_TIMEOUT_SECONDS = 1200
"""Limit of a test of several processes, or with several waits, where `timeout` in pyproject.toml is that of others."""

MEASURED_FOLDERS = frozenset({"api", "app", "connectors", "pipeline", "schemas", "service"})
"""Folders whose tests count for coverage, but for those marked `slow` or `no_cover`: long ones, also properties of a
hundred examples, run half as long again under it."""

# By itself, Hypothesis fails what takes longer than 200 ms, or half a minute to draw ten examples, which is
# about the machine, everywhere but in CI.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
if settings.get_current_profile_name() == "default":
    settings.load_profile("untimed")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect tests without garbage collection: imported modules stay until the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with something slow in them first: begun last, they would leave the other cores idle.

    Coverage pauses outside of MEASURED_FOLDERS. Tests of several processes get more time: each start and each wait
    of theirs has a limit of its own.
    """
    for item in items:
        if item.path.relative_to(TESTS).parts[0] not in MEASURED_FOLDERS or item.get_closest_marker("slow"):
            item.add_marker("no_cover")
        is_long = item.get_closest_marker("kafka") or item.get_closest_marker("slow")
        if is_long and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(LONG_TEST_TIMEOUT_SECONDS))
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling | None:
    """With `--dist loadfile`, let few workers need a broker."""
    return BrokerSharingScheduling(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Stop the coverage that pytest-cov starts in a worker before the worker's own.

    When a test marked `no_cover` pauses the own one, coverage resumes the earlier with the tracers of every thread in
    one thread. Two threads then write to one tracer, which crashed the process once in some fifteen runs.
    """
    if hasattr(session.config, "workerinput") and (earlier := Coverage.current()) is not None:
        earlier.stop()


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session", autouse=True)
def forked_servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Fork the servers that tests start: each would import for three seconds."""
    with preforked_servers(tmp_path_factory.mktemp("servers")) as forker, pytest.MonkeyPatch.context() as patch:
        patch.setattr(Server, "launch", forker.start)
        yield


@pytest.fixture(scope="session")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """A real S3 server, started when first asked for."""
    with run_s3_server(tmp_path_factory.mktemp("s3")) as server:
        yield server


@pytest.fixture(scope="session")
def kafka() -> Iterator[LocalBroker | DockerBroker]:
    """A real Apache Kafka, started when first asked for; a test that stops it starts it again."""
    with ExitStack() as stack:
        try:
            started = stack.enter_context(run_broker())
        except KafkaUnavailableHereError as error:
            pytest.skip(f"needs a real Apache Kafka: {error}")
        yield started


@pytest.fixture
def own_kafka(kafka: LocalBroker | DockerBroker) -> Iterator[LocalBroker | DockerBroker]:
    """The same with nothing in it: whole services share their topics' names, and would read each other's."""
    asyncio.run(delete_topics_and_groups(kafka.bootstrap))
    yield kafka
    asyncio.run(delete_topics_and_groups(kafka.bootstrap))
