"""The image is built and runs as a cluster would run it. `make image` asks for it: it takes minutes and the network."""

import os
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from threading import Thread

import psutil
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from supermemory import Supermemory

from tests.support.container_image import CERTIFICATES, ContainerImage, built_image
from tests.support.polling import poll_until
from tools.port_reservation import reserved_port

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

KEY = "rk_" + "0123456789abcdef" * 2
LARGEST_BYTES = 700_000_000


@pytest.fixture(scope="module")
def image() -> Iterator[ContainerImage]:
    folder = os.environ.get("RECOLLECT_TEST_IMAGE")
    if folder is None:
        pytest.skip("builds an image only on request: make image")
    missing = [name for name in ("buildah", "debootstrap", "unshare") if shutil.which(name) is None]
    if missing or os.getuid() != 0:
        pytest.skip(f"needs a peer that is not installed: {', '.join(missing) or 'root'}")
    with built_image(Path(folder).absolute()) as image:
        yield image


@contextmanager
def _served(image: ContainerImage, folder: Path, certificates: Path = CERTIFICATES) -> Iterator[tuple[str, int]]:
    """Run the image's own command; yields the address, and the id of the process that waits for it."""
    data = folder / "data"
    data.mkdir()
    os.chown(data, image.user, image.user)
    words = [*image.config["Entrypoint"], *image.config["Cmd"]]
    with reserved_port() as port:
        settings = {"RECOLLECT_PORT": str(port), "RECOLLECT_HOST": "127.0.0.1", "RECOLLECT_ADMIN_KEY": KEY}
        settings["RECOLLECT_FETCH_PRIVATE_ADDRESSES"] = "true"
        log = folder / "log"
        with log.open("wb") as output:
            process = subprocess.Popen(  # noqa: S603 - our own image
                image.command(data, *words, certificates=certificates),
                env=image.environment(**settings),
                stdout=output,
                stderr=output,
            )
        with process:
            try:
                poll_until(log.read_text, lambda text: "Console:" in text or process.poll() is not None, "started")
                assert process.poll() is None, log.read_text()
                yield f"http://127.0.0.1:{port}", port
            finally:
                # unshare ignores SIGTERM. Its child is the first process of the container, which an engine would stop.
                for child in psutil.Process(process.pid).children():
                    child.terminate()


def _run(image: ContainerImage, folder: Path, *words: str, **settings: str) -> subprocess.CompletedProcess[str]:
    command = image.command(folder, *words)
    return subprocess.run(command, env=image.environment(**settings), capture_output=True, text=True, check=False)  # noqa: S603


def test_its_compressed_layers_stay_below_700_megabytes(image: ContainerImage) -> None:
    assert image.compressed_bytes < LARGEST_BYTES


def test_it_runs_as_a_user_without_rights_who_can_write_data_and_tmp_only(
    image: ContainerImage, tmp_path: Path
) -> None:
    os.chown(tmp_path, image.user, image.user)
    script = """
    id -u; grep CapEff /proc/self/status
    for folder in /data /tmp; do touch $folder/file && echo $folder; done
    touch /app/file /home/recollect/file /etc/file
    """
    done = _run(image, tmp_path, "sh", "-c", script)
    assert done.stdout.split() == ["10001", "CapEff:", "0000000000000000", "/data", "/tmp"]  # noqa: S108 - the image's own
    assert done.stderr.count("Read-only file system") == 3


def test_it_remembers_and_recalls_with_a_read_only_root(image: ContainerImage, tmp_path: Path) -> None:
    with _served(image, tmp_path) as (url, port), Supermemory(base_url=url, api_key=KEY, max_retries=0) as client:
        client.add("alice", content="My name is Alice. I live in Lisbon.", dreaming="instant")
        poll_until(
            lambda: [result.memory for result in client.search("alice", query="Where does she live?").results],
            lambda memories: any("Lisbon" in (memory or "") for memory in memories),
            "recalled",
        )
        client.documents.upload_file("tides", file=("tides.html", b"<html><body><p>The harbour empties at noon."))
        poll_until(
            lambda: [result.chunk for result in client.search("tides", query="When does the harbour empty?").results],
            lambda chunks: any("noon" in (chunk or "") for chunk in chunks),
            "read by the parser",
        )
        assert _run(image, tmp_path / "data", *image.health_check, RECOLLECT_PORT=str(port)).returncode == 0
    assert _run(image, tmp_path / "data", *image.health_check, RECOLLECT_PORT=str(port)).returncode != 0


def test_it_trusts_a_bundle_that_is_mounted_in_place_of_its_certificates(image: ContainerImage, tmp_path: Path) -> None:
    with _secure_site(tmp_path) as (page, bundle), _served(image, tmp_path, bundle) as (url, _):
        with Supermemory(base_url=url, api_key=KEY, max_retries=0) as client:
            document = client.add("web", content=page).id
            poll_until(lambda: client.documents.get("web", document).system.status, "done".__eq__, "fetched")


@contextmanager
def _secure_site(folder: Path) -> Iterator[tuple[str, Path]]:
    """Serve a page over TLS with a certificate that nobody knows; yields its address and the bundle that has it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, SHA256())
        .public_bytes(Encoding.PEM)
    )
    (folder / "key.pem").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    bundle = folder / "bundle.pem"
    bundle.write_bytes(certificate)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(bundle, folder / "key.pem")
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Page)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"https://127.0.0.1:{server.server_port}/", bundle
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<html><body><p>Lighthouses are painted every spring.</p></body></html>")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the handler's interface
        """Keep the test's output free of requests."""
