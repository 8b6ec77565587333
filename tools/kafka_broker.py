"""Single-node Apache Kafka (KRaft) on loopback, for tests and development.

Runs from Docker if its engine answers, else from Kafka's jars on Java 17, which Maven downloads once into
`.kafka`. `python -m tools.kafka_broker` runs it in the foreground; `--prepare` only downloads.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import uuid
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from tools.kafka_installation import VERSION, KafkaUnavailableHereError, libraries_folder, prepare, run_command
from tools.parent_watchdog import start_watchdog, stop_watchdog
from tools.port_reservation import reserved_port

IMAGE = f"apache/kafka:{VERSION}"
STARTED_MESSAGE = "Kafka Server started"
STOP_SECONDS = 20
MAIN_CLASS = "kafka.Kafka"
USER, PASSWORD = "tester", "only-on-loopback"
_LOGIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
JVM_OPTIONS = ("-Xms256m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
LOGGING = """rootLogger.level=warn
rootLogger.appenderRef.c.ref=C
appender.c.type=Console
appender.c.name=C
appender.c.layout.type=PatternLayout
appender.c.layout.pattern=%d %p %m %c%n
logger.server.name=kafka.server.KafkaRaftServer
logger.server.level=info
"""


QUICK_PROPERTIES = {
    "auto.create.topics.enable": "false",
    # Tests start group members one by one, so the first one should not wait for others.
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    # A killed node may rejoin soon.
    "broker.session.timeout.ms": "2000",
    "broker.heartbeat.interval.ms": "500",
    # Compact within the timeout of a test.
    "log.cleaner.backoff.ms": "200",
    # Each segment has two indexes, which are filled with zeros to this size; by default to ten times as much.
    "log.index.size.max.bytes": "1048576",
}
"""Properties of every broker: nobody waits for what an idle machine does not need."""


@dataclass(frozen=True, slots=True)
class BrokerPorts:
    """Ports of a broker: plaintext clients, SASL clients, and its controller."""

    plaintext: int
    sasl: int
    controller: int


def server_properties(ports: BrokerPorts, listen_address: str = "127.0.0.1") -> dict[str, str]:
    """Return `server.properties` of one node that is broker and controller, without replication."""
    login = f'{_LOGIN_MODULE} required username="{USER}" password="{PASSWORD}" user_{USER}="{PASSWORD}";'
    return {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@127.0.0.1:{ports.controller}",
        "listeners": (
            f"PLAINTEXT://{listen_address}:{ports.plaintext},LOGIN://{listen_address}:{ports.sasl}"
            f",CONTROLLER://127.0.0.1:{ports.controller}"
        ),
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{ports.plaintext},LOGIN://127.0.0.1:{ports.sasl}",
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "PLAINTEXT",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,LOGIN:SASL_PLAINTEXT",
        "listener.name.login.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.login.plain.sasl.jaas.config": login,
        "offsets.topic.replication.factor": "1",
        "offsets.topic.num.partitions": "4",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "transaction.state.log.num.partitions": "1",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
        **QUICK_PROPERTIES,
    }


class BrokerProcess:
    """A broker from the jars. `stop` and `start` keep its data and its address."""

    def __init__(self, folder: Path, properties: Mapping[str, str], format_options: Sequence[str] = ()) -> None:
        """`format_options` go to Kafka's command that makes the data folder; brokers of one cluster share an id."""
        self.folder = folder
        self._properties = folder / "server.properties"
        lines = {**properties, "log.dirs": str(folder / "data")}
        self._properties.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
        (folder / "log4j2.properties").write_text(LOGGING)
        self._process: subprocess.Popen[str] | None = None
        self._watchdog: subprocess.Popen[bytes] | None = None
        self._output: _OutputReader | None = None
        options = format_options or ("-t", str(uuid.uuid4()))
        _java(folder, "kafka.tools.StorageTool", "format", "-c", self._properties, *options)

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        """Start the broker and wait until it answers; KafkaUnavailableHereError if it ends instead."""
        self._process = subprocess.Popen(
            [*_command(self.folder), MAIN_CLASS, str(self._properties)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            # Ctrl-C should reach only the parent, which then stops the broker in order.
            start_new_session=True,
        )  # fmt: skip
        self._watchdog = start_watchdog(self._process.pid)
        self._output = _OutputReader(self._process, self.folder / "kafka.log")
        self._output.wait()

    def stop(self, number: int = signal.SIGTERM) -> None:
        """Stop the broker; SIGKILL simulates a crash."""
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(number)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        watchdog, self._watchdog = self._watchdog, None
        stop_watchdog(watchdog)
        if self._output is not None:
            self._output.join()

    def wait(self) -> int:
        """Wait until the broker ends and return its exit status."""
        return 0 if self._process is None else self._process.wait()


class LocalBroker(BrokerProcess):
    """The only broker of its cluster."""

    def __init__(self, folder: Path, ports: BrokerPorts) -> None:
        super().__init__(folder, server_properties(ports))
        self.bootstrap = f"127.0.0.1:{ports.plaintext}"
        self.sasl_bootstrap = f"127.0.0.1:{ports.sasl}"


class DockerBroker:
    def __init__(self, ports: BrokerPorts) -> None:
        self.bootstrap = f"127.0.0.1:{ports.plaintext}"
        self.sasl_bootstrap = f"127.0.0.1:{ports.sasl}"
        self._name = f"recollect-kafka-{ports.plaintext}"
        self._ports = ports

    def start(self) -> None:
        """Start the container and wait until the broker answers."""
        properties = server_properties(self._ports, listen_address="0.0.0.0")  # noqa: S104 - inside the container; published on loopback
        variables = [f"--env=KAFKA_{name.upper().replace('.', '_')}={value}" for name, value in properties.items()]
        open_ports = (self._ports.plaintext, self._ports.sasl)
        publish = [f"--publish=127.0.0.1:{port}:{port}" for port in open_ports]
        run_command(["docker", "run", "--detach", f"--name={self._name}", *publish, *variables, IMAGE])
        follow = subprocess.Popen(
            ["docker", "logs", "--follow", self._name],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        output = _OutputReader(follow, Path(os.devnull))
        output.wait()
        follow.terminate()
        follow.wait()
        output.join()

    def stop(self, number: int = signal.SIGTERM) -> None:
        """Stop the container and keep its data; SIGKILL simulates a crash."""
        kill = number == signal.SIGKILL
        run_command(["docker", "kill" if kill else "stop", self._name])

    def remove(self) -> None:
        run_command(["docker", "rm", "--force", "--volumes", self._name])

    def wait(self) -> int:
        run_command(["docker", "wait", self._name])
        return 0


@contextmanager
def run_broker(port: int = 0) -> Iterator[LocalBroker | DockerBroker]:
    """Run a broker on this port (0: a free one); it is removed with its data when the block ends."""
    with ExitStack() as stack:
        plain, sasl, controller = (stack.enter_context(reserved_port()) for _ in range(3))
        ports = BrokerPorts(port or plain, sasl, controller)
        if _has_docker():
            container = DockerBroker(ports)
            stack.callback(container.remove)
            container.start()
            yield container
            return
        prepare(install=False)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="recollect-kafka-")))
        running = LocalBroker(folder, ports)
        stack.callback(running.stop)
        running.start()
        yield running


def _has_docker() -> bool:
    if shutil.which("docker") is None:
        return False
    return subprocess.run(["docker", "info"], capture_output=True, check=False).returncode == 0


def _command(folder: Path) -> list[str]:
    logging = f"-Dlog4j2.configurationFile={folder / 'log4j2.properties'}"
    return ["java", "-cp", f"{libraries_folder()}/*", *JVM_OPTIONS, logging]


def _java(folder: Path, *arguments: object) -> None:
    run_command([*_command(folder), *map(str, arguments)])


class _OutputReader(threading.Thread):
    """Thread that copies a process's output to a file, so that the process never blocks on a full pipe."""

    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        super().__init__(name="kafka-output", daemon=True)
        self._process = process
        self._log = log
        self._last_lines: deque[str] = deque(maxlen=20)
        self._started_or_ended = threading.Event()
        self._has_started = False
        self.start()

    def wait(self) -> None:
        """Wait until Kafka has started; KafkaUnavailableHereError with its last output if it ends."""
        self._started_or_ended.wait()
        if not self._has_started:
            raise KafkaUnavailableHereError(
                f"Kafka exited with status {self._process.wait()}:\n{''.join(self._last_lines)}"
            )

    def run(self) -> None:
        output = self._process.stdout or StringIO()
        with output, self._log.open("a") as log:
            for line in output:
                log.write(line)
                self._last_lines.append(line)
                if STARTED_MESSAGE in line:
                    self._has_started = True
                    self._started_or_ended.set()
        self._started_or_ended.set()


def main() -> None:
    """Run in the foreground until Ctrl-C."""
    parser = argparse.ArgumentParser(description="Run a single-node Apache Kafka on loopback.")
    parser.add_argument("--port", type=int, default=9092, help="0: any free port")
    parser.add_argument("--prepare", action="store_true", help="only install and download what is needed")
    arguments = parser.parse_args()
    # SIGTERM should also stop the broker.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        # Tests of several brokers run them from the jars everywhere.
        if arguments.prepare or not _has_docker():
            prepare(install=True)
        if arguments.prepare:
            return
        with run_broker(arguments.port) as running:
            sys.stdout.write(f"Kafka {VERSION} answers at {running.bootstrap}. Ctrl-C stops it.\n")
            sys.stdout.flush()
            sys.exit(running.wait())
    except KafkaUnavailableHereError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.stdout.write("Stopped.\n")


if __name__ == "__main__":
    main()
