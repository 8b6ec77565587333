"""Choice of the bus by settings, and the cost of the imports."""

import gzip
import subprocess
import sys
import threading
import uuid
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from faststream.security import SASLScram512
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from pydantic import SecretStr

from app.resources import open_sealing_keys
from pipeline.bus.bus_factory import open_bus
from pipeline.bus.kafka.bus import KafkaBus
from pipeline.bus.kafka.cluster import Cluster, KafkaOpenError
from pipeline.bus.records import ProducerRecord
from pipeline.bus.sqlite.bus import SqliteBus
from pipeline.errors import OutageError
from pipeline.settings import Settings
from pipeline.stage import Stage
from pipeline.store.folder_files import open_files
from schemas.topics import Topic
from tests.pipeline.bus.bus_contract import NumberedEvent, RecordingHandler, numbered_events
from tests.pipeline.bus.kafka_harness import KafkaHarness
from tests.support.fakes import FixedClock
from tools.kafka_broker import PASSWORD, USER, DockerBroker, LocalBroker
from tools.port_reservation import reserved_port

pytestmark = pytest.mark.anyio


async def test_the_log_is_embedded_by_default(tmp_path: Path) -> None:
    bus = await open_bus(Settings(data_dir=tmp_path), FixedClock())
    assert isinstance(bus, SqliteBus)
    await bus.close()


async def test_a_created_data_directory_is_private_to_its_owner(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o750)
    for folder, mode in ((tmp_path / "new", 0o700), (shared, 0o750)):
        bus = await open_bus(Settings(data_dir=folder), FixedClock())
        await bus.close()
        assert folder.stat().st_mode & 0o777 == mode


def test_the_embedded_default_imports_nothing_of_kafka() -> None:
    code = "import app.cli.main, api.application, app.pipeline_factory, sys; print(*sys.modules)"
    completed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603 - our own code
    assert not {"faststream", "aiokafka"} & set(completed.stdout.split())


@pytest.mark.kafka
@pytest.mark.usefixtures("own_kafka")
async def test_the_log_is_kafka_if_a_bootstrap_server_is_configured(
    kafka_harness: KafkaHarness, tmp_path: Path
) -> None:
    settings = Settings(data_dir=tmp_path, kafka_bootstrap=kafka_harness.bootstrap, log_partitions=3)
    bus = await open_bus(settings, FixedClock())
    assert isinstance(bus, KafkaBus)
    assert bus.partitions == 3
    await bus.close()


@pytest.mark.kafka
@pytest.mark.usefixtures("own_kafka")
async def test_a_collector_receives_spans_of_published_records(kafka_harness: KafkaHarness, tmp_path: Path) -> None:
    received: list[bytes] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            received.append(gzip.decompress(body) if self.headers["content-encoding"] == "gzip" else body)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    with HTTPServer(("127.0.0.1", 0), Collector) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        settings = Settings(
            data_dir=tmp_path,
            kafka_bootstrap=kafka_harness.bootstrap,
            log_partitions=3,
            otlp_endpoint=f"http://127.0.0.1:{server.server_port}",
        )
        bus = await open_bus(settings, FixedClock())
        topic = kafka_harness.topic("traced")
        await bus.publish(topic, numbered_events([1]))
        await bus.close()
        server.shutdown()
    requests = [ExportTraceServiceRequest.FromString(body) for body in received]
    spans = [
        span.name
        for request in requests
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]
    assert any(topic.name in name for name in spans), spans


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the bus give up on a broker after a second."""
    monkeypatch.setattr(KafkaBus, "open", partial(KafkaBus.open, call_timeout=1.0))


@pytest.mark.usefixtures("impatient")
async def test_the_error_names_a_broker_that_does_not_answer(tmp_path: Path) -> None:
    # Nothing listens on port 1.
    settings = Settings(data_dir=tmp_path, kafka_bootstrap="127.0.0.1:1")
    with pytest.raises(OutageError, match=r"127\.0\.0\.1:1 .*no answer within 1 s.*RECOLLECT_KAFKA_BOOTSTRAP"):
        await open_bus(settings, FixedClock())


def test_the_password_is_passed_on_but_not_shown() -> None:
    settings = Settings(
        kafka_security_protocol="SASL_SSL",
        kafka_sasl_mechanism="SCRAM-SHA-512",
        kafka_username="me",
        kafka_password=SecretStr("hidden"),
    )
    security = Cluster(settings).security
    assert isinstance(security, SASLScram512)
    assert (security.username, security.password) == ("me", "hidden")
    assert "hidden" not in repr(settings)
    assert security.use_ssl


async def test_unreadable_certificates_are_reported(tmp_path: Path) -> None:
    settings = Settings(
        data_dir=tmp_path,
        kafka_bootstrap="127.0.0.1:1",
        kafka_security_protocol="SSL",
        kafka_ca_file=str(tmp_path / "none.pem"),
    )
    with pytest.raises(KafkaOpenError, match="certificates"):
        await open_bus(settings, FixedClock())


def _sasl_settings(kafka: LocalBroker | DockerBroker, folder: Path, password: str) -> Settings:
    return Settings(
        data_dir=folder,
        kafka_bootstrap=kafka.sasl_bootstrap,
        log_partitions=3,
        kafka_security_protocol="SASL_PLAINTEXT",
        kafka_username=USER,
        kafka_password=SecretStr(password),
    )


@pytest.mark.kafka
@pytest.mark.usefixtures("own_kafka")
async def test_every_client_authenticates_with_sasl(kafka: LocalBroker | DockerBroker, tmp_path: Path) -> None:
    bus, handler = await open_bus(_sasl_settings(kafka, tmp_path, PASSWORD), FixedClock()), RecordingHandler()
    topic = Topic(f"test.login.{uuid.uuid4().hex}.v1", NumberedEvent)
    await bus.publish(topic, numbered_events([1]))
    await bus.append(topic.name, [ProducerRecord(b"key", b"{", {})])
    await bus.run([Stage(f"login.{uuid.uuid4().hex}", topic, handler.handle)], until_idle=True)
    assert handler.numbers == [1]
    assert len(await bus.dead_letters(topic.name)) == 1
    await bus.close()


@pytest.mark.kafka
@pytest.mark.usefixtures("own_kafka")
async def test_several_brokers_are_named_of_which_one_answers(
    kafka: LocalBroker | DockerBroker, tmp_path: Path
) -> None:
    with reserved_port() as unused:
        several = f"127.0.0.1:{unused}, {kafka.bootstrap}"
        bus = await open_bus(Settings(data_dir=tmp_path, kafka_bootstrap=several, log_partitions=3), FixedClock())
        topic = Topic(f"test.several.{uuid.uuid4().hex}.v1", NumberedEvent)
        await bus.publish(topic, numbered_events([1]))
        assert [record.offset async for record in bus.read(topic.name)] == [0]
        await bus.close()


@pytest.mark.kafka
@pytest.mark.usefixtures("impatient")
async def test_a_wrong_password_is_reported(kafka: LocalBroker | DockerBroker, tmp_path: Path) -> None:
    with pytest.raises(OutageError, match="RECOLLECT_KAFKA_BOOTSTRAP"):
        await open_bus(_sasl_settings(kafka, tmp_path, "wrong"), FixedClock())


async def test_lost_or_unreachable_keys_of_topics_are_reported(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, kafka_bootstrap="127.0.0.1:1", sealing=True)
    (tmp_path / "file").touch()
    for folder, reason in (("file/keys", "RECOLLECT_SEALING_URI"), ("keys", "sealing.key can't be read")):
        storage = open_files(str(tmp_path / folder), "keys")
        if folder == "keys":
            storage.create("wrapping", b"0" * 16)
        with pytest.raises(ValueError, match=reason):
            await open_bus(settings, FixedClock(), open_key_storage=partial(open_files, str(tmp_path / folder), "keys"))


async def test_keys_are_opened_only_with_sealing_or_after_it(tmp_path: Path) -> None:
    for sealing, has_keys in ((False, False), (True, True), (False, True)):
        settings = Settings(data_dir=tmp_path, sealing=sealing)
        bus = await open_bus(settings, FixedClock(), open_key_storage=partial(open_sealing_keys, settings))
        await bus.close()
        assert (tmp_path / "keys" / "wrapping").exists() == has_keys
