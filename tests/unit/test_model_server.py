"""The scripted model over real loopback sockets: three dialects, waits, errors, and who went away."""

from __future__ import annotations

import gzip
import http.client
import json
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import pytest

from agentd.testing.model import Directive, ScriptedModel


@dataclass(frozen=True)
class Reply:
    status: int
    type: str
    body: bytes
    complete: bool = True

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def events(self) -> list[Any]:
        """The data of each server-sent event; what isn't JSON as it is."""
        data = [
            line.removeprefix("data: ")
            for line in self.body.decode().splitlines()
            if line.startswith("data: ")
        ]
        return [json.loads(text) if text.startswith("{") else text for text in data]


@contextmanager
def connected(url: str) -> Iterator[http.client.HTTPConnection]:
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=10)
    try:
        yield connection
    finally:
        connection.close()


def fetch(
    model: ScriptedModel,
    path: str,
    body: Mapping[str, Any] | bytes | None = None,
    *,
    method: str = "POST",
    encoding: str = "",
) -> Reply:
    raw = body if isinstance(body, bytes | None) else json.dumps(body).encode()
    with connected(model.url) as connection:
        connection.request(method, path, raw, {"content-encoding": encoding} if encoding else {})
        response = connection.getresponse()
        kind = response.getheader("content-type", "")
        try:
            return Reply(response.status, kind, response.read())
        except http.client.IncompleteRead as broken:
            return Reply(response.status, kind, broken.partial, complete=False)


class Client(Protocol):
    """A CLI's side of one dialect, as small as it gets. Its one tool is an MCP server's `wait`."""

    path: str

    def body(self, prompt: str, *, stream: bool) -> dict[str, Any]: ...
    def streamed(self, events: list[Any]) -> tuple[str, Any]:
        """The text and the call (name, arguments) in a stream."""

    def whole(self, body: Any) -> tuple[str, Any]: ...
    def last_event(self) -> str: ...
    def error(self, body: Any) -> str: ...


class AnthropicClient:
    path = "/v1/messages?beta=true"

    def body(self, prompt: str, *, stream: bool) -> dict[str, Any]:
        tools = [{"name": "Bash", "input_schema": {}}, {"name": "mcp__api-bridge__wait", "input_schema": {}}]
        messages = [{"role": "user", "content": [{"type": "text", "text": prompt}]}]
        return {"model": "m", "messages": messages, "tools": tools, "stream": stream}

    def streamed(self, events: list[Any]) -> tuple[str, Any]:
        deltas = [event["delta"] for event in events if event["type"] == "content_block_delta"]
        text = "".join(delta.get("text", "") for delta in deltas)
        starts = [event["content_block"] for event in events if event["type"] == "content_block_start"]
        if starts[0]["type"] == "text":
            return text, None
        return text, (starts[0]["name"], json.loads(deltas[0]["partial_json"]))

    def whole(self, body: Any) -> tuple[str, Any]:
        (block,) = body["content"]
        return block.get("text", ""), (block["name"], block["input"]) if "name" in block else None

    def last_event(self) -> str:
        return "message_stop"

    def error(self, body: Any) -> str:
        return f"{body['type']} {body['error']['type']}"


class ResponsesClient:
    path = "/v1/responses"

    def body(self, prompt: str, *, stream: bool) -> dict[str, Any]:
        wait = {"type": "function", "name": "wait", "parameters": {}}
        tools = [
            {"type": "function", "name": "exec_command", "parameters": {}},
            {"type": "namespace", "name": "mcp__api_bridge", "tools": [wait]},
        ]
        message = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": prompt}]}
        return {"model": "m", "input": [message], "tools": tools, "stream": stream}

    def streamed(self, events: list[Any]) -> tuple[str, Any]:
        assert [event["sequence_number"] for event in events] == list(range(len(events)))
        text = "".join(event["delta"] for event in events if event["type"] == "response.output_text.delta")
        items = [event["item"] for event in events if event["type"] == "response.output_item.done"]
        return text, self._call(items[0]) if items else None

    def whole(self, body: Any) -> tuple[str, Any]:
        (item,) = body["output"]
        return "".join(part["text"] for part in item.get("content", ())), self._call(item)

    def last_event(self) -> str:
        return "response.completed"

    def error(self, body: Any) -> str:
        return f"error {body['error']['type']}"

    def _call(self, item: Any) -> Any:
        if item["type"] != "function_call":
            return None
        name = f"{item['namespace']}__{item['name']}" if "namespace" in item else item["name"]
        return name, json.loads(item["arguments"])


class ChatClient:
    path = "/v1/chat/completions"

    def body(self, prompt: str, *, stream: bool) -> dict[str, Any]:
        names = ("bash", "mcp__api_bridge__wait")
        tools = [{"type": "function", "function": {"name": name, "parameters": {}}} for name in names]
        messages = [{"role": "system", "content": "s"}, {"role": "user", "content": prompt}]
        return {"model": "m", "messages": messages, "tools": tools, "stream": stream}

    def streamed(self, events: list[Any]) -> tuple[str, Any]:
        chunks = [event for event in events if event != "[DONE]"]
        deltas = [choice["delta"] for chunk in chunks for choice in chunk["choices"]]
        calls = [call for delta in deltas for call in delta.get("tool_calls", ())]
        return "".join(delta.get("content", "") for delta in deltas), self._call(calls)

    def whole(self, body: Any) -> tuple[str, Any]:
        message = body["choices"][0]["message"]
        return message["content"] or "", self._call(message.get("tool_calls", ()))

    def last_event(self) -> str:
        return "[DONE]"

    def error(self, body: Any) -> str:
        return f"error {body['error']['type']}"

    def _call(self, calls: Any) -> Any:
        return next(((c["function"]["name"], json.loads(c["function"]["arguments"])) for c in calls), None)


CLIENTS: tuple[Client, ...] = (AnthropicClient(), ResponsesClient(), ChatClient())
ANTHROPIC, RESPONSES, CHAT = CLIENTS


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel(tick=0.01) as model:
        yield model


@pytest.fixture(params=CLIENTS, ids=lambda client: type(client).__name__)
def client(request: pytest.FixtureRequest) -> Client:
    assert isinstance(request.param, AnthropicClient | ResponsesClient | ChatClient)
    return request.param


def ask(model: ScriptedModel, client: Client, prompt: str, *, stream: bool = True) -> Reply:
    return fetch(model, client.path, client.body(prompt, stream=stream))


def test_a_text_comes_streamed_and_whole(model: ScriptedModel, client: Client) -> None:
    text = "Grüße " * 20 + "end"
    streamed, whole = ask(model, client, f"@say {text}"), ask(model, client, f"@say {text}", stream=False)
    assert (streamed.type, whole.type) == ("text/event-stream", "application/json")
    assert client.streamed(streamed.events) == client.whole(whole.json) == (text, None)
    last = streamed.events[-1]
    assert (last if isinstance(last, str) else last["type"]) == client.last_event()


def test_a_call_comes_streamed_and_whole(model: ScriptedModel, client: Client) -> None:
    prompt = '@tool wait {"seconds": 3}'
    streamed, whole = ask(model, client, prompt), ask(model, client, prompt, stream=False)
    text, (name, arguments) = client.streamed(streamed.events)
    assert client.whole(whole.json) == (text, (name, arguments))
    assert (text, name.replace("-", "_"), arguments) == ("", "mcp__api_bridge__wait", {"seconds": 3})


def test_the_shell_is_called_by_the_dialect_s_name(model: ScriptedModel) -> None:
    calls = [client.streamed(ask(model, client, "@bash ls").events)[1] for client in CLIENTS]
    assert [(name, arguments.get("cmd") or arguments.get("command")) for name, arguments in calls] == [
        ("Bash", "ls"),
        ("exec_command", "ls"),
        ("bash", "ls"),
    ]


def test_an_error_is_counted_for_each_prompt(model: ScriptedModel, client: Client) -> None:
    prompt = f"{client.path}\n@err 429 2\n@say recovered"
    replies = [ask(model, client, prompt) for _ in range(3)]
    assert [reply.status for reply in replies] == [429, 429, 200]
    assert client.error(replies[0].json) == "error rate_limit_error"
    assert client.streamed(replies[2].events) == ("recovered", None)
    assert ask(model, client, f"another {prompt}").status == 429


def test_a_cut_breaks_the_stream_in_the_middle(model: ScriptedModel, client: Client) -> None:
    prompt = f"{client.path}\n@cut"
    reply = ask(model, client, prompt)
    assert (reply.status, reply.complete) == (200, False)
    assert b"partial" in reply.body
    assert client.last_event() not in reply.body.decode()
    assert model.wait_for(lambda request: request.prompt == prompt).outcome == "cut"


def test_slow_and_delayed_answers(model: ScriptedModel, client: Client) -> None:
    for prompt, text in (("@slow 3 end", "chunk1 chunk2 chunk3 end"), ("@delay 3 late", "late")):
        for stream in (True, False):
            begun = time.monotonic()
            reply = ask(model, client, prompt, stream=stream)
            assert time.monotonic() - begun >= 0.03
            assert text in (client.streamed(reply.events)[0] if stream else client.whole(reply.json)[0])


def test_a_conversation_is_followed_in_responses(model: ScriptedModel) -> None:
    body = RESPONSES.body("@tool wait\n@say two", stream=False)
    body["input"] += [
        {"type": "reasoning", "summary": []},
        {"type": "function_call", "name": "wait", "arguments": "{}"},
        {"type": "function_call_output", "output": "waited"},
    ]
    assert RESPONSES.whole(fetch(model, RESPONSES.path, body).json)[0] == "two"
    body["input"] += [{"type": "message", "role": "assistant", "content": []}]
    assert RESPONSES.whole(fetch(model, RESPONSES.path, body).json)[0] == "done tool-result=<<waited>>"


def test_a_conversation_is_followed_in_chat(model: ScriptedModel) -> None:
    body = CHAT.body("@bash ls", stream=False)
    body["messages"] += [
        {"role": "assistant", "tool_calls": []},
        {"role": "tool", "content": [{"type": "text", "text": "files"}]},
        {"role": "user", "content": "and now?"},
    ]
    expected = "done tool-result=<<files>> steered=<<and now?>>"
    assert CHAT.whole(fetch(model, CHAT.path, body).json)[0] == expected


def test_responses_takes_tools_from_its_input_and_a_freeform_shell(model: ScriptedModel) -> None:
    message = {"role": "user", "content": "@bash ls"}
    tools = {"type": "additional_tools", "tools": [{"type": "custom", "name": "exec"}]}
    (item,) = fetch(model, RESPONSES.path, {"input": [tools, message]}).json["output"]
    assert (item["type"], item["name"]) == ("custom_tool_call", "exec")
    assert "ls" in item["input"]


def test_an_aside_without_tools_gets_a_title(model: ScriptedModel) -> None:
    message = {"role": "user", "content": "@err 500"}
    title, _ = ANTHROPIC.whole(fetch(model, "/v1/messages", {"messages": [message]}).json)
    assert json.loads(title) == {"title": "Scripted title"}


def test_the_small_requests(model: ScriptedModel) -> None:
    assert fetch(model, "/v1/messages/count_tokens", {"messages": []}).json["input_tokens"] > 0
    assert fetch(model, "/v1/models?limit=9", method="GET").json["data"][0]["id"] == "scripted"
    assert fetch(model, "/v1/models/other", method="GET").json["id"] == "other"
    assert fetch(model, "/", method="HEAD") == Reply(200, "application/json", b"")
    assert fetch(model, "/v1/unknown", {}).status == 404


def test_a_packed_body(model: ScriptedModel) -> None:
    body = json.dumps(RESPONSES.body("@say unpacked", stream=False)).encode()
    reply = fetch(model, RESPONSES.path, gzip.compress(body), encoding="gzip")
    assert RESPONSES.whole(reply.json)[0] == "unpacked"
    if program := shutil.which("zstd"):
        packed = subprocess.run([program, "-c"], input=body, stdout=subprocess.PIPE, check=True).stdout
        reply = fetch(model, RESPONSES.path, packed, encoding="zstd")
        assert RESPONSES.whole(reply.json)[0] == "unpacked"


def test_a_request_that_makes_no_sense_is_refused(model: ScriptedModel, client: Client) -> None:
    for reply, word in (
        (fetch(model, client.path, b"{"), "scripted model"),
        (fetch(model, client.path, b"[]"), "no JSON object"),
        (fetch(model, client.path, b"x", encoding="br"), "content-encoding br"),
        (ask(model, client, "@slow"), "@slow: wanted a number"),
    ):
        assert (reply.status, client.error(reply.json)) == (400, "error invalid_request_error")
        assert word in reply.json["error"]["message"]


def test_requests_are_recorded() -> None:
    with ScriptedModel() as model:
        ask(model, RESPONSES, "go\n@say hello")
        ask(model, ANTHROPIC, "no script")
        first, second = model.requests
        assert (first.number, first.method, first.path, first.dialect) == (
            1,
            "POST",
            "/v1/responses",
            "responses",
        )
        assert (first.step, first.directive, first.prompt) == (0, Directive("say", "hello"), "go\n@say hello")
        assert first.tools == ("exec_command", "mcp__api_bridge__wait")
        assert first.body["model"] == "m"
        assert (second.directive, second.prompt) == (None, "no script")
        assert repr(model) == f"<ScriptedModel {model.url}, requests: 2>"


def test_wait_for_sees_a_request_that_comes_later() -> None:
    with ScriptedModel(tick=0.01) as model:
        asking = threading.Thread(target=ask, args=(model, CHAT, "@delay 2 late"))
        asking.start()
        assert model.wait_for(lambda request: request.outcome == "answered", 5).number == 1
        asking.join()
        with pytest.raises(TimeoutError, match=r"@delay 2 late"):
            model.wait_for(lambda request: request.number == 2, 0.01)


@pytest.mark.parametrize("directive", ["@slow 60 x", "@delay 60 x"])
def test_a_client_that_went_away_is_seen_at_once(directive: str) -> None:
    with ScriptedModel() as model:
        with connected(model.url) as connection:
            connection.request("POST", CHAT.path, json.dumps(CHAT.body(directive, stream=True)))
            model.wait_for(lambda request: request.outcome == "open", 5)
        assert model.wait_for(lambda request: request.outcome == "gone", 0.5).step == 0


def test_a_connection_is_kept_for_the_next_request(model: ScriptedModel) -> None:
    with connected(model.url) as connection:
        for number in range(2):
            connection.request("POST", CHAT.path, json.dumps(CHAT.body(f"@say {number}", stream=True)))
            assert str(number) in connection.getresponse().read().decode()


def test_closing_ends_waits_connections_and_threads() -> None:
    before = set(threading.enumerate())
    with ScriptedModel() as model, connected(model.url) as idle, connected(model.url) as waiting:
        idle.request("GET", "/v1/models")
        idle.getresponse().read()
        waiting.request("POST", CHAT.path, json.dumps(CHAT.body("@delay 600 x", stream=True)))
        model.wait_for(lambda request: request.dialect == "chat", 5)
        begun = time.monotonic()
        model.close()
        assert time.monotonic() - begun < 20, "it waits for no answer that is to come in ten minutes"
    assert model.requests[-1].outcome == "closed"
    assert set(threading.enumerate()) <= before


def test_it_runs_by_hand() -> None:
    program = [sys.executable, "-m", "agentd.testing.model", "--port", "0", "--tick", "0"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        with connected(address) as connection:
            connection.request("POST", CHAT.path, json.dumps(CHAT.body("@say by hand", stream=True)))
            assert b"by hand" in connection.getresponse().read()
        logged = json.loads(process.stdout.readline())
        process.terminate()
    assert (logged["directive"], logged["outcome"], process.returncode) == ("@say by hand", "answered", 0)
