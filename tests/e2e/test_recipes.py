"""The recipes work, each as a program of its own, with a language model's double that checks requests."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from openai.types.chat import CompletionCreateParams
from pydantic import TypeAdapter
from supermemory import Supermemory

from bench.service_process import Server
from tests.support.guide_blocks import ROOT, parse_blocks
from tests.support.polling import poll_until, wait_document_done

RECIPES = ROOT / "docs" / "recipes"
TUTORIAL = ROOT / "docs" / "tutorial.md"
CHECK: TypeAdapter[Any] = TypeAdapter(CompletionCreateParams)
"""Validates a request against the SDK's own types."""
RETRIEVERS = {"langchain_retriever.py": "langchain_core", "llamaindex_retriever.py": "llama_index.core"}
AGENTS = {
    "openai_agents.py": "agents",
    "pydantic_ai_agent.py": "pydantic_ai",
    "langgraph_agent.py": "langgraph.graph",
    "crewai_agent.py": "crewai",
}
NODE_MODULES = Path(os.environ.get("RECIPE_NODE_MODULES", "no-node-modules"))
NODE_PEERS = [
    pytest.param(
        recipe,
        marks=pytest.mark.skipif(
            shutil.which("node") is None or not (NODE_MODULES / package).is_dir(),
            reason=f"needs a peer that is not installed: node with {package}",
        ),
    )
    for recipe, package in {"vercel-ai.mjs": "ai", "mastra.mjs": "@mastra/core"}.items()
]
QUESTION = "Where does Ada live?"


class ToolCallingModel(ThreadingHTTPServer):
    """Asks for the tool that it is offered, once, and answers with what it was told."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _ModelHandler)
        self.asked: list[dict[str, Any]] = []

    @property
    def url(self) -> str:
        """Base URL for the SDKs."""
        return f"http://127.0.0.1:{self.server_port}/v1"


class _ModelHandler(BaseHTTPRequestHandler):
    server: ToolCallingModel

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        assert self.path == "/v1/chat/completions"
        CHECK.validate_python(body)
        self.server.asked.append(body)
        messages = body["messages"]
        if body.get("tools") and messages[-1]["role"] == "user":
            name = body["tools"][0]["function"]["name"]
            said = str(messages[-1]["content"])
            query = QUESTION if QUESTION in said else said  # an agent may wrap the question in a task
            call = {"name": name, "arguments": json.dumps({"query": query})}
            message: dict[str, Any] = {
                "content": None,
                "tool_calls": [{"id": "call_1", "type": "function", "function": call}],
            }
        else:
            contents = [entry["content"] for entry in messages if entry["role"] in {"system", "tool"}]
            message = {"content": f"From memory: {contents[-1]}"}
        reason = "tool_calls" if "tool_calls" in message else "stop"
        choice = {"index": 0, "finish_reason": reason, "message": {"role": "assistant", **message}}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        answer = {
            "id": "1",
            "object": "chat.completion",
            "created": 0,
            "model": body["model"],
            "usage": usage,
        }
        content = json.dumps({**answer, "choices": [choice]}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Log nothing: a failure shows in the recipe's own output."""


@pytest.fixture
def model() -> Iterator[ToolCallingModel]:
    with ToolCallingModel() as double:
        Thread(target=double.serve_forever, daemon=True).start()
        yield double
        double.shutdown()


def _run_recipe(server: Server, model: ToolCallingModel, *command: str, typed: str = "") -> str:
    known = {
        "SUPERMEMORY_BASE_URL": server.url,
        "SUPERMEMORY_API_KEY": server.key,
        "OPENAI_BASE_URL": model.url,
        "OPENAI_API_KEY": "none",
    }
    done = subprocess.run(  # noqa: S603 - our recipes
        command, env=os.environ | known, check=False, capture_output=True, text=True, input=typed
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _prepare_namespace(client: Supermemory, namespace: str) -> None:
    client.add(namespace, content="Ada lives in Lisbon, near the river.", id="home", dreaming="instant")
    wait_document_done(client, namespace, "home", memories=True)


@pytest.fixture
def informed(client: Supermemory, namespace: str) -> str:
    """The namespace of somebody who is known a little."""
    _prepare_namespace(client, namespace)
    return namespace


def test_a_chat_is_given_what_is_known_and_what_was_said_is_kept(
    server: Server, client: Supermemory, namespace: str, model: ToolCallingModel
) -> None:
    _prepare_namespace(client, namespace)
    printed = _run_recipe(server, model, sys.executable, str(RECIPES / "openai_chat.py"), namespace, QUESTION)
    assert "From memory" in printed
    assert "Lisbon" in printed
    assert [message["role"] for message in model.asked[0]["messages"]] == ["system", "user"]
    _wait_until_kept(client, namespace)


def test_a_model_may_search_by_itself(
    server: Server, client: Supermemory, namespace: str, model: ToolCallingModel
) -> None:
    _prepare_namespace(client, namespace)
    printed = _run_recipe(server, model, sys.executable, str(RECIPES / "openai_tools.py"), namespace, QUESTION)
    assert "Lisbon" in printed
    assert [len(request["messages"]) for request in model.asked] == [1, 3]


def test_the_chat_of_the_tutorial_gives_a_model_what_it_remembers(
    server: Server, namespace: str, model: ToolCallingModel, tmp_path: Path
) -> None:
    (program,) = (block for block in parse_blocks(TUTORIAL) if block.note == "file: chat.py")
    assert len(program.text.splitlines()) <= 60
    chat = tmp_path / "chat.py"
    chat.write_text(program.text)
    typed = "My name is Ada. I live in Lisbon.\nWhere do I live?\n"
    printed = _run_recipe(server, model, sys.executable, str(chat), namespace, typed=typed)
    assert "User lives in Lisbon" in printed
    assert "User lives in Lisbon" not in model.asked[0]["messages"][0]["content"]
    assert model.asked[1]["messages"][1]["content"] == "Where do I live?"


@pytest.mark.parametrize("recipe", RETRIEVERS)
def test_a_retriever_finds_what_is_known(
    recipe: str, server: Server, client: Supermemory, namespace: str, model: ToolCallingModel
) -> None:
    python = _python_with(RETRIEVERS[recipe])
    _prepare_namespace(client, namespace)
    assert "Lisbon" in _run_recipe(server, model, python, str(RECIPES / recipe), namespace, QUESTION)


@pytest.mark.parametrize("recipe", AGENTS)
def test_an_agent_answers_from_memory_and_keeps_what_was_said(
    recipe: str, server: Server, client: Supermemory, namespace: str, model: ToolCallingModel
) -> None:
    python = _python_with(AGENTS[recipe])
    _prepare_namespace(client, namespace)
    assert "Lisbon" in _run_recipe(server, model, python, str(RECIPES / recipe), namespace, QUESTION)
    _wait_until_kept(client, namespace)


def test_a_store_finds_what_was_put_there(server: Server, namespace: str, model: ToolCallingModel) -> None:
    python, recipe = _python_with("langgraph.store.base"), str(RECIPES / "langgraph_store.py")
    _run_recipe(server, model, python, recipe, namespace, "Ada lives in Lisbon.")
    poll_until(
        lambda: _run_recipe(server, model, python, recipe, namespace, QUESTION),
        lambda printed: "Lisbon" in printed,
        "what was put there is found",
    )


@pytest.mark.parametrize("recipe", NODE_PEERS)
def test_a_program_of_node_searches_by_itself(
    recipe: str, server: Server, informed: str, model: ToolCallingModel, tmp_path: Path
) -> None:
    (tmp_path / "node_modules").symlink_to(NODE_MODULES)
    program = shutil.copy(RECIPES / recipe, tmp_path)
    assert "Lisbon" in _run_recipe(server, model, "node", str(program), informed, QUESTION)


def _python_with(module: str) -> str:
    python = os.environ.get("RECIPE_PYTHON", sys.executable)
    peer = subprocess.run([python, "-c", f"import {module}"], check=False, capture_output=True)  # noqa: S603 - a chosen interpreter
    if peer.returncode:
        pytest.skip(f"needs a peer that is not installed: {module}")
    return python


def _wait_until_kept(client: Supermemory, namespace: str) -> None:
    poll_until(
        lambda: client.list(namespace, "documents", include={"content": True}).documents,
        lambda listed: any(QUESTION in (document.content or "") for document in listed),
        "what was said is kept",
    )


def test_every_recipe_is_named_on_their_page_and_tried_here() -> None:
    page = (RECIPES / "README.md").read_text()
    tried = Path(__file__).read_text()
    for recipe in RECIPES.iterdir():
        if recipe.name != "README.md":
            assert f"({recipe.name})" in page
            assert f'"{recipe.name}"' in tried
