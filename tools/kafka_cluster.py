"""Three Kafka brokers (KRaft) on loopback that take SASL/SCRAM over TLS only, as a cluster in production does.

Replicated threefold: any one of them may be away. From Kafka's jars, whatever else runs containers here.
"""

import signal
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tools.kafka_broker import PASSWORD, QUICK_PROPERTIES, USER, BrokerProcess
from tools.kafka_installation import prepare
from tools.port_reservation import reserved_port

BROKERS = 3
MECHANISM = "SCRAM-SHA-512"
_LOGIN_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"
_LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class SecuredCluster:
    """Running brokers, and the certificate (PEM) of who signed theirs."""

    brokers: Sequence[BrokerProcess]
    bootstrap: str
    ca_file: Path

    def service_settings(self) -> dict[str, str]:
        """Return the variables with which the service uses it."""
        return {
            "RECOLLECT_KAFKA_BOOTSTRAP": self.bootstrap,
            "RECOLLECT_KAFKA_REPLICATION": str(BROKERS),
            "RECOLLECT_KAFKA_MIN_INSYNC_REPLICAS": "2",
            "RECOLLECT_KAFKA_SECURITY_PROTOCOL": "SASL_SSL",
            "RECOLLECT_KAFKA_SASL_MECHANISM": MECHANISM,
            "RECOLLECT_KAFKA_USERNAME": USER,
            "RECOLLECT_KAFKA_PASSWORD": PASSWORD,
            "RECOLLECT_KAFKA_CA_FILE": str(self.ca_file),
        }


@contextmanager
def run_secured_cluster() -> Iterator[SecuredCluster]:
    """Run three brokers, which are removed with their data when the block ends; KafkaUnavailableHereError."""
    prepare(install=False)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="recollect-kafka-")))
        clients, controllers = ([stack.enter_context(reserved_port()) for _ in range(BROKERS)] for _ in range(2))
        ca_file = folder / "ca.pem"
        write_certificates(ca_file, folder / "broker.pem")
        cluster_id = str(uuid.uuid4())
        credentials = f"{MECHANISM}=[name={USER},password={PASSWORD}]"

        def start(number: int) -> BrokerProcess:
            own = folder / f"broker-{number}"
            own.mkdir()
            properties = broker_properties(number, clients, controllers, folder)
            broker = BrokerProcess(own, properties, ("-t", cluster_id, "--add-scram", credentials))
            # Its data is removed: no broker has to hand anything over to the others, which end too.
            stack.callback(broker.stop, signal.SIGKILL)
            # None of them has started before a majority of the controllers has.
            broker.start()
            return broker

        with ThreadPoolExecutor(BROKERS) as threads:
            brokers = list(threads.map(start, range(1, BROKERS + 1)))
        yield SecuredCluster(brokers, ",".join(f"{_LOOPBACK}:{port}" for port in clients), ca_file)


def broker_properties(
    number: int, clients: Sequence[int], controllers: Sequence[int], certificates: Path
) -> dict[str, str]:
    """Return `server.properties` of broker `number` (from 1) of those with these ports."""
    own_client, own_controller = clients[number - 1], controllers[number - 1]
    login = f'{_LOGIN_MODULE} required username="{USER}" password="{PASSWORD}";'
    voters = (f"{voter}@{_LOOPBACK}:{port}" for voter, port in enumerate(controllers, start=1))
    return {
        **QUICK_PROPERTIES,
        "process.roles": "broker,controller",
        "node.id": str(number),
        "controller.quorum.voters": ",".join(voters),
        "listeners": f"SECURED://{_LOOPBACK}:{own_client},CONTROLLER://{_LOOPBACK}:{own_controller}",
        "advertised.listeners": f"SECURED://{_LOOPBACK}:{own_client}",
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "SECURED",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,SECURED:SASL_SSL",
        "sasl.mechanism.inter.broker.protocol": MECHANISM,
        "listener.name.secured.sasl.enabled.mechanisms": MECHANISM,
        f"listener.name.secured.{MECHANISM.lower()}.sasl.jaas.config": login,
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(certificates / "broker.pem"),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(certificates / "ca.pem"),
        "default.replication.factor": str(BROKERS),
        "offsets.topic.replication.factor": str(BROKERS),
        "offsets.topic.num.partitions": "4",
        "transaction.state.log.replication.factor": str(BROKERS),
        "transaction.state.log.num.partitions": "1",
        "share.coordinator.state.topic.replication.factor": str(BROKERS),
    }


def write_certificates(ca_file: Path, broker_file: Path) -> None:
    """Write the certificate of a new authority, and a key with the certificate that it signed for loopback."""
    ca_key, broker_key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    ca_name, broker_name = (
        x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]) for name in ("Tests of recollect", _LOOPBACK)
    )
    authority = (
        _certificate(ca_name, ca_key.public_key(), ca_name, ca_key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(signs_certificates=True), critical=True)
        .sign(ca_key, hashes.SHA256())
    )
    broker = (
        _certificate(broker_name, broker_key.public_key(), ca_name, ca_key.public_key())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(signs_certificates=False), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address(_LOOPBACK))]), critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    ca_file.write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    private_key = broker_key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    broker_file.write_bytes(private_key + broker.public_bytes(serialization.Encoding.PEM))


def _certificate(
    subject: x509.Name, public_key: ec.EllipticCurvePublicKey, issuer: x509.Name, issuer_key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder(issuer, subject, public_key, x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key), critical=False)
    )


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )
