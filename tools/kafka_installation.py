"""Installation of Java, Maven and Kafka's jars."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

VERSION = "4.1.1"
JAVA = 17
CACHE = Path(__file__).parent.parent / ".kafka"
INSTALLERS: Mapping[str, Sequence[Sequence[str]]] = {
    "apt-get": (("update", "-qq"), ("install", "-y", "-qq", "openjdk-17-jre-headless", "maven")),
    "dnf": (("install", "-y", "java-17-openjdk-headless", "maven"),),
    "apk": (("add", "openjdk17-jre-headless", "maven"),),
    "brew": (("install", "openjdk@17", "maven"),),
}
"""Arguments of the calls that install Java and Maven, per package manager."""


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


class KafkaUnavailableHereError(Exception):
    """Kafka can't run on this machine; the message says what is missing."""


def prepare(*, install: bool) -> None:
    """Provide Java, Maven and Kafka's jars. KafkaUnavailableHereError if something can't be installed."""
    if not _has_java() or (not libraries_folder().is_dir() and shutil.which("mvn") is None):
        if not install:
            raise KafkaUnavailableHereError(
                f"Docker does not answer, and Java {JAVA} or Maven is missing: `make kafka` installs them"
            )
        _install()
    if libraries_folder().is_dir():
        return
    CACHE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        Path(folder, "pom.xml").write_text(POM)
        goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", "-DoutputDirectory=libs"]
        run_command(["mvn", "-q", "-B", "-f", f"{folder}/pom.xml", *goal])
        # Another process may have downloaded the same jars meanwhile.
        if not libraries_folder().is_dir():
            Path(folder, "libs").rename(libraries_folder())


def libraries_folder() -> Path:
    return CACHE / f"libs-{VERSION}"


def _has_java() -> bool:
    if shutil.which("java") is None:
        return False
    output = subprocess.run(["java", "-version"], capture_output=True, check=False, text=True).stderr
    _, _, version = output.partition('version "')
    major = version.split(".", 1)[0].split('"', 1)[0]
    return major.isdecimal() and int(major) >= JAVA


def _install() -> None:
    """Install Java and Maven with the system's package manager, as root or through sudo."""
    for name, calls in INSTALLERS.items():
        if shutil.which(name) is None:
            continue
        root = [] if os.geteuid() == 0 or name == "brew" else ["sudo", "--non-interactive"]
        for call in calls:
            run_command([*root, name, *call])
        return
    raise KafkaUnavailableHereError(
        f"Docker does not answer, and no supported package manager was found ({', '.join(INSTALLERS)})."
        f" Install Java {JAVA} and Maven by hand."
    )


def run_command(command: Sequence[str]) -> None:
    """Run a command; KafkaUnavailableHereError with the end of its output if it fails."""
    completed = subprocess.run(command, check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if completed.returncode:
        output = (completed.stderr or completed.stdout).strip()[-2000:]
        raise KafkaUnavailableHereError(f"`{' '.join(command[:3])} …` failed:\n{output}")
