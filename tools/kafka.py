"""A real Apache Kafka on loopback: KRaft, one node, for tests and for trying things out.

From Docker where an engine answers, else from Kafka's own jars, which Maven fetches once into `.kafka`, on
Java 17. `python -m tools.kafka` runs it in the foreground, `--prepare` only fetches what it needs.
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

from tools.leash import leash, unleash
from tools.ports import held_port

VERSION = "4.1.1"
IMAGE = f"apache/kafka:{VERSION}"
CACHE = Path(__file__).parent.parent / ".kafka"
STARTED = "Kafka Server started"
STOP_SECONDS = 20
JAVA = 17
MAIN = "kafka.Kafka"
USER, PASSWORD = "tester", "only-on-loopback"
_LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
OPTIONS = ("-Xms256m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
INSTALLERS: Mapping[str, Sequence[Sequence[str]]] = {
    "apt-get": (("update", "-qq"), ("install", "-y", "-qq", "openjdk-17-jre-headless", "maven")),
    "dnf": (("install", "-y", "java-17-openjdk-headless", "maven"),),
    "apk": (("add", "openjdk17-jre-headless", "maven"),),
    "brew": (("install", "openjdk@17", "maven"),),
}
"""Per package manager: what it is called with, one call after another."""

POM = f"""<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>recollect</groupId><artifactId>kafka</artifactId><version>1</version><packaging>pom</packaging>
<dependencies>
<dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId>
<version>{VERSION}</version></dependency>
<dependency><groupId>org.apache.logging.log4j</groupId><artifactId>log4j-slf4j-impl</artifactId>
<version>2.24.3</version></dependency>
<dependency><groupId>org.apache.logging.log4j</groupId><artifactId>log4j-core</artifactId>
<version>2.24.3</version></dependency>
</dependencies></project>
"""
LOGGING = """rootLogger.level=warn
rootLogger.appenderRef.c.ref=C
appender.c.type=Console
appender.c.name=C
appender.c.layout.type=PatternLayout
appender.c.layout.pattern=%d %p %m %c%n
logger.server.name=kafka.server.KafkaRaftServer
logger.server.level=info
"""


class KafkaMissingError(Exception):
    """No Kafka can be run here; the message says what is missing."""


@dataclass(frozen=True, slots=True)
class Ports:
    """Where a broker listens: for anybody, for who logs in with SASL, and for itself."""

    plain: int
    sasl: int
    controller: int


def settings(ports: Ports, listen: str = "127.0.0.1") -> dict[str, str]:
    """`server.properties` of one node that is broker and controller and keeps everything once."""
    login = f'{_LOGIN} required username="{USER}" password="{PASSWORD}" user_{USER}="{PASSWORD}";'
    return {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@127.0.0.1:{ports.controller}",
        "listeners": (
            f"PLAINTEXT://{listen}:{ports.plain},LOGIN://{listen}:{ports.sasl}"
            f",CONTROLLER://127.0.0.1:{ports.controller}"
        ),
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{ports.plain},LOGIN://127.0.0.1:{ports.sasl}",
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
        # A group's first member need not wait for others, which tests start in their own time.
        "group.initial.rebalance.delay.ms": "0",
        "group.min.session.timeout.ms": "1000",
        # A node that was killed is let in again soon.
        "broker.session.timeout.ms": "2000",
        "broker.heartbeat.interval.ms": "500",
        "auto.create.topics.enable": "false",
        # Compaction within a test's patience.
        "log.cleaner.backoff.ms": "200",
    }


class Broker:
    """A running broker. `restart` keeps its data and its address."""

    def __init__(self, folder: Path, ports: Ports) -> None:
        self.folder = folder
        self.bootstrap = f"127.0.0.1:{ports.plain}"
        self.login = f"127.0.0.1:{ports.sasl}"
        self._properties = folder / "server.properties"
        lines = {**settings(ports), "log.dirs": str(folder / "data")}
        self._properties.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
        (folder / "log4j2.properties").write_text(LOGGING)
        self._process: subprocess.Popen[str] | None = None
        self._leash: subprocess.Popen[bytes] | None = None
        self._output: _Output | None = None
        _java(folder, "kafka.tools.StorageTool", "format", "-t", str(uuid.uuid4()), "-c", self._properties)

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        """Returns when it answers; KafkaMissingError with its last words when it ends instead."""
        self._process = subprocess.Popen(
            [*_command(self.folder), MAIN, str(self._properties)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            # Ctrl-C is for whoever started it, who then stops it in order.
            start_new_session=True,
        )  # fmt: skip
        self._leash = leash(self._process.pid)
        self._output = _Output(self._process, self.folder / "kafka.log")
        self._output.wait()

    def stop(self, number: int = signal.SIGTERM) -> None:
        """End it; SIGKILL is what a crash is like."""
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(number)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        leashed, self._leash = self._leash, None
        unleash(leashed)
        if self._output is not None:
            self._output.join()

    def wait(self) -> int:
        """Until it ends by itself; its exit status."""
        return 0 if self._process is None else self._process.wait()


class Container:
    """The same from Docker."""

    def __init__(self, ports: Ports) -> None:
        self.bootstrap = f"127.0.0.1:{ports.plain}"
        self.login = f"127.0.0.1:{ports.sasl}"
        self._name = f"recollect-kafka-{ports.plain}"
        self._ports = ports

    def start(self) -> None:
        """Returns when it answers."""
        given = settings(self._ports, listen="0.0.0.0")  # noqa: S104 - inside the container; published on loopback
        variables = [f"--env=KAFKA_{name.upper().replace('.', '_')}={value}" for name, value in given.items()]
        open_ports = (self._ports.plain, self._ports.sasl)
        publish = [f"--publish=127.0.0.1:{port}:{port}" for port in open_ports]
        _call(["docker", "run", "--detach", f"--name={self._name}", *publish, *variables, IMAGE])
        follow = subprocess.Popen(
            ["docker", "logs", "--follow", self._name],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        output = _Output(follow, Path(os.devnull))
        output.wait()
        follow.terminate()
        follow.wait()
        output.join()

    def stop(self, number: int = signal.SIGTERM) -> None:
        """End it; its data goes with the container only when the block ends."""
        kill = number == signal.SIGKILL
        _call(["docker", "kill" if kill else "stop", self._name])

    def remove(self) -> None:
        _call(["docker", "rm", "--force", "--volumes", self._name])

    def wait(self) -> int:
        _call(["docker", "wait", self._name])
        return 0


@contextmanager
def broker(port: int = 0) -> Iterator[Broker | Container]:
    """A started broker on this port (0: a free one), removed with its data when the block ends."""
    with ExitStack() as stack:
        plain, sasl, controller = (stack.enter_context(held_port()) for _ in range(3))
        ports = Ports(port or plain, sasl, controller)
        if _has_docker():
            container = Container(ports)
            stack.callback(container.remove)
            container.start()
            yield container
            return
        prepare(install=False)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="recollect-kafka-")))
        running = Broker(folder, ports)
        stack.callback(running.stop)
        running.start()
        yield running


def prepare(*, install: bool) -> None:
    """Java, Maven and Kafka's jars, fetched where missing. KafkaMissingError says what can't be had."""
    if not _has_java() or (not _libs().is_dir() and shutil.which("mvn") is None):
        if not install:
            raise KafkaMissingError(
                f"Docker does not answer, and Java {JAVA} or Maven is missing: `make kafka` installs them"
            )
        _install()
    if _libs().is_dir():
        return
    CACHE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        Path(folder, "pom.xml").write_text(POM)
        goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", "-DoutputDirectory=libs"]
        _call(["mvn", "-q", "-B", "-f", f"{folder}/pom.xml", *goal])
        # Another process may have been faster; either's jars are the same.
        if not _libs().is_dir():
            Path(folder, "libs").rename(_libs())


def _libs() -> Path:
    return CACHE / f"libs-{VERSION}"


def _has_docker() -> bool:
    if shutil.which("docker") is None:
        return False
    return subprocess.run(["docker", "info"], capture_output=True, check=False).returncode == 0


def _has_java() -> bool:
    if shutil.which("java") is None:
        return False
    shown = subprocess.run(["java", "-version"], capture_output=True, check=False, text=True).stderr
    _, _, version = shown.partition('version "')
    major = version.split(".", 1)[0].split('"', 1)[0]
    return major.isdecimal() and int(major) >= JAVA


def _install() -> None:
    """With the system's package manager, as root or through sudo."""
    for name, calls in INSTALLERS.items():
        if shutil.which(name) is None:
            continue
        root = [] if os.geteuid() == 0 or name == "brew" else ["sudo", "--non-interactive"]
        for call in calls:
            _call([*root, name, *call])
        return
    raise KafkaMissingError(
        f"Docker does not answer, and there is no package manager known here ({', '.join(INSTALLERS)})."
        f" Install Java {JAVA} and Maven by hand."
    )


def _call(command: Sequence[str]) -> None:
    done = subprocess.run(command, check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        said = (done.stderr or done.stdout).strip()[-2000:]
        raise KafkaMissingError(f"`{' '.join(command[:3])} …` failed:\n{said}")


def _command(folder: Path) -> list[str]:
    logging = f"-Dlog4j2.configurationFile={folder / 'log4j2.properties'}"
    return ["java", "-cp", f"{_libs()}/*", *OPTIONS, logging]


def _java(folder: Path, *arguments: object) -> None:
    _call([*_command(folder), *map(str, arguments)])


class _Output(threading.Thread):
    """Reads what a process says, for as long as it lives, so that it never waits for a full pipe."""

    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        super().__init__(name="kafka-output", daemon=True)
        self._process = process
        self._log = log
        self._said: deque[str] = deque(maxlen=20)
        self._heard = threading.Event()
        self._answers = False
        self.start()

    def wait(self) -> None:
        """Until the process has started; KafkaMissingError with its last words when it ends instead."""
        self._heard.wait()
        if not self._answers:
            raise KafkaMissingError(f"Kafka has ended with {self._process.wait()}:\n{''.join(self._said)}")

    def run(self) -> None:
        said = self._process.stdout or StringIO()
        with said, self._log.open("a") as log:
            for line in said:
                log.write(line)
                self._said.append(line)
                if STARTED in line:
                    self._answers = True
                    self._heard.set()
        self._heard.set()


def main() -> None:
    """Run in the foreground until Ctrl-C."""
    parser = argparse.ArgumentParser(description="A real Apache Kafka on loopback.")
    parser.add_argument("--port", type=int, default=9092, help="0 takes a free one")
    parser.add_argument("--prepare", action="store_true", help="only fetch what is needed")
    chosen = parser.parse_args()
    # Ended in whatever way, it takes the broker along.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        if not _has_docker():
            prepare(install=True)
        if chosen.prepare:
            return
        with broker(chosen.port) as running:
            sys.stdout.write(f"Kafka {VERSION} answers at {running.bootstrap}. Ctrl-C stops it.\n")
            sys.stdout.flush()
            sys.exit(running.wait())
    except KafkaMissingError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.stdout.write("Stopped.\n")


if __name__ == "__main__":
    main()
