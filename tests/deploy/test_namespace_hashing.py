"""A real nginx with the Ingress' path sends the requests of a namespace to one process, and namespaces to all."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import pytest

from tests.deploy.conftest import read_manifests
from tests.support.polling import poll_until

BACKENDS = ("one", "two", "three")
Ask = Callable[[str], str]


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """A function that returns which backend answered a path."""
    nginx = shutil.which("nginx")
    if nginx is None:
        pytest.skip("needs a peer that is not installed: nginx")
    folder = tmp_path_factory.mktemp("nginx")
    (folder / "nginx.conf").write_text(_configuration(folder))
    with subprocess.Popen([nginx, "-p", folder, "-e", folder / "error.log", "-c", folder / "nginx.conf"]) as process:  # noqa: S603 - what is installed here
        try:
            poll_until((folder / "front").exists, bool, "listening")
            transport = httpx2.HTTPTransport(uds=str(folder / "front"))
            with httpx2.Client(transport=transport, base_url="http://recollect.example.com") as client:
                yield lambda path: client.get(path).raise_for_status().text
        finally:
            process.terminate()


def _configuration(folder: Path) -> str:
    """Write the location and the hash as the controller does, in a plain nginx; each backend answers with its name."""
    (ingress,) = (
        object_
        for object_ in read_manifests("parts")
        if "by-namespace" in object_["metadata"]["name"] and object_["kind"] == "Ingress"
    )
    variable = ingress["metadata"]["annotations"]["nginx.ingress.kubernetes.io/upstream-hash-by"]
    path = ingress["spec"]["rules"][0]["http"]["paths"][0]["path"]
    servers = "".join(f"server {{ listen unix:{folder}/{name}; return 200 {name}; }}\n" for name in BACKENDS)
    members = "".join(f"server unix:{folder}/{name};\n" for name in BACKENDS)
    return f"""
user root; daemon off; worker_processes 1; pid {folder}/pid;
events {{}}
http {{
access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
{servers}
upstream hashed {{ hash {variable} consistent; {members} }}
upstream others {{ {members} }}
server {{
listen unix:{folder}/front;
location ~* "^{path}" {{ proxy_pass http://hashed; }}
location ~* "^/" {{ proxy_pass http://others; }}
}}
}}
"""


def test_all_requests_of_a_namespace_reach_one_process(ask: Ask) -> None:
    for namespace in ("alice", "team:bob", "Alice", "a.b-c_d"):
        paths = ("search", "document/1", "list/memories?limit=5", "profile")
        assert len({ask(f"/ns/{namespace}/{path}") for path in paths}) == 1
    assert ask("/ns/team:bob/search") == ask("/ns/team%3Abob/search")


def test_namespaces_are_spread_over_all_processes(ask: Ask) -> None:
    answered = [ask(f"/ns/user-{number}/search") for number in range(300)]
    assert {name: answered.count(name) > 50 for name in BACKENDS} == dict.fromkeys(BACKENDS, True)


def test_other_paths_go_to_every_process(ask: Ask) -> None:
    assert {ask("/namespaces") for _ in range(9)} == set(BACKENDS)
