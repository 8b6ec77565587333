"""Concurrent changes on Kafka, through one API process and two: every acknowledged change stands."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.support.kafka_cleanup import delete_topics_and_groups
from tests.support.kafka_deployment import KafkaDeployment, running_deployment
from tests.support.polling import poll_until
from tools.kafka_broker import DockerBroker, LocalBroker

pytestmark = pytest.mark.kafka
DOCUMENTS = 40
CLIENTS = 16
CHANGES = 10


@pytest.fixture(scope="module")
def deployment(
    tmp_path_factory: pytest.TempPathFactory, kafka: LocalBroker | DockerBroker
) -> Iterator[KafkaDeployment]:
    asyncio.run(delete_topics_and_groups(kafka.bootstrap))
    with running_deployment(tmp_path_factory.mktemp("processes"), kafka.bootstrap) as deployment:
        yield deployment


def change(deployment: KafkaDeployment, api: int, method: str, path: str, body: Any) -> None:
    """Send until it is acknowledged, as the answer 503 of a busy process asks for."""
    status, answer = poll_until(
        lambda: deployment.request(api, method, path, body), lambda found: found[0] != 503, f"{method} {path}"
    )
    assert status == 200, answer


def read(deployment: KafkaDeployment, api: int, path: str) -> Any:
    status, answer = poll_until(
        lambda: deployment.request(api, "GET", path), lambda found: found[0] != 503, f"GET {path}"
    )
    assert status == 200, answer
    return answer


def wait_until_done(deployment: KafkaDeployment, namespace: str, document: str) -> Any:
    return poll_until(
        lambda: read(deployment, 0, f"/ns/{namespace}/document/{document}"),
        lambda shown: shown["system"]["status"] == "done",
        f"{document} done",
    )


@pytest.mark.parametrize("second_api", [0, 1], ids=["one API process", "two API processes"])
def test_content_and_metadata_patched_at_once_both_stand(
    deployment: KafkaDeployment, namespace: str, second_api: int
) -> None:
    documents = [f"d{number}" for number in range(DOCUMENTS)]
    with ThreadPoolExecutor(8) as threads:
        list(
            threads.map(
                lambda id_: change(
                    deployment,
                    0,
                    "POST",
                    f"/ns/{namespace}/document",
                    {"id": id_, "content": f"The first text of {id_}."},
                ),
                documents,
            )
        )

    def patch_content() -> None:
        for id_ in documents:
            text = {"content": f"The second text of {id_}."}
            change(deployment, 0, "PATCH", f"/ns/{namespace}/document/{id_}", text)

    def patch_metadata() -> None:
        for id_ in documents:
            change(deployment, second_api, "PATCH", f"/ns/{namespace}/document/{id_}", {"metadata": {"patched": id_}})

    with ThreadPoolExecutor(2) as threads:
        for patching in [threads.submit(patch_content), threads.submit(patch_metadata)]:
            patching.result()
    for id_ in documents:
        shown = wait_until_done(deployment, namespace, id_)
        assert shown["content"] == f"The second text of {id_}."
        assert shown["metadata"] == {"patched": id_}


@pytest.mark.parametrize("apis", [1, 2])
def test_a_key_from_each_of_sixteen_clients_stands_on_one_document(
    deployment: KafkaDeployment, namespace: str, apis: int
) -> None:
    change(deployment, 0, "POST", f"/ns/{namespace}/document", {"id": "shared", "content": "A shared document."})

    def patch(client: int) -> None:
        for number in range(CHANGES):
            keys = {"metadata": {f"client{client}-{number}": number}}
            change(deployment, client % apis, "PATCH", f"/ns/{namespace}/document/shared", keys)

    with ThreadPoolExecutor(CLIENTS) as threads:
        list(threads.map(patch, range(CLIENTS)))
    expected = {f"client{client}-{number}": number for client in range(CLIENTS) for number in range(CHANGES)}
    for api in (0, 1):
        assert read(deployment, api, f"/ns/{namespace}/document/shared")["metadata"] == expected
    shown = wait_until_done(deployment, namespace, "shared")
    assert shown["metadata"] == expected


def test_every_append_through_two_api_processes_stands_once(deployment: KafkaDeployment, namespace: str) -> None:
    lines = [f"Line {number} of the journal." for number in range(80)]

    def append(number: int) -> None:
        body = {"id": "journal", "content": lines[number]}
        change(deployment, number % 2, "POST", f"/ns/{namespace}/document", body)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(append, range(len(lines))))
    shown = wait_until_done(deployment, namespace, "journal")
    assert sorted(shown["content"].split("\n\n")) == sorted(lines)
