"""One fleet through its faults to a completion, and out again. The tests are one story, told in order."""

from __future__ import annotations

import io
import json
import re
import shlex
import signal
import ssl
import subprocess
import threading
import zipfile
from contextlib import closing, contextmanager
from http.client import HTTPSConnection
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import openai
import pytest

from components.machines.lab.network import NetworkOutputs
from tests.lab import parser
from tests.lab.outside import opened, reached, stranger, traces
from tools import model

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from tests.lab.checkout import Checkout

pytestmark = pytest.mark.lab

HEAD, OTHER = "host-0", "host-1"
KEYS, ENGINE = "/etc/rackstack/gateway/keys.conf", "/etc/rackstack/rank.env"
RANKS, GATEWAY = "rackstack-rank.service", "rackstack-gateway.service"
GATEWAY_PORT = 8443
PORTS = (22, 80, 111, 8000, GATEWAY_PORT, 29501, 29550, 29600)
"""What ranks, the gateway, SSH and a distribution's own services may listen on."""
OPEN: Mapping[str, Any] = {"sources": ["operator"]}
DOOR = {("access", "updated"), ("completion", "updated")}
"""What a change of the keys may change beside the keys themselves."""


@pytest.fixture(scope="module")
def wheel(story: Checkout) -> Path:
    """Return a small wheel of the mirror."""
    return next(story.wheels.glob("idna-*.whl"))


def test_a_killed_up_is_taken_up_where_it_was_and_every_fault_of_the_mirror_is_named(
    story: Checkout, wheel: Path
) -> None:
    _killed(story, r"host-0.*creating")
    [weights] = story.cache.glob("checkpoints/lab-qwen3-bf16/*/*.safetensors")
    whole = weights.read_bytes()
    wheel.unlink()
    story.spoil(weights, whole[:-1] + bytes([whole[-1] ^ 1]))
    error = _error(story.up(code=1))
    assert "has no wheel of idna" in error
    assert f"{weights.name} has SHA-256" in error
    story.mend(weights)


def test_a_wheel_with_a_wrong_hash_is_named(story: Checkout, wheel: Path) -> None:
    story.mend(wheel)
    story.spoil(wheel, _altered(wheel))
    error = _error(story.up(code=1))
    assert "the wheel of idna" in error
    assert "has SHA-256" in error
    story.mend(wheel)


def test_a_kill_while_a_playbook_runs_leaves_no_process_and_a_taken_port_is_named_with_its_owner(
    story: Checkout,
) -> None:
    story.on(HEAD, "systemd-run --unit=squatter python3 -m http.server 8000")
    _killed(story, r"engine: ")
    error = _error(story.up(code=1))
    story.on(HEAD, "systemctl stop squatter")
    assert f"{HEAD}: port 8000 is taken by" in error
    assert "python3" in error


def test_a_broken_compiler_is_found_behind_a_healthy_server(story: Checkout) -> None:
    compiler = story.on(OTHER, "g++ -print-prog-name=cc1plus").strip()
    story.on(OTHER, f"chmod a-x {compiler}")
    error = _error(story.up(code=1))
    story.on(OTHER, f"chmod a+x {compiler}")
    assert f"rank 1 on {OTHER} failed first" in error
    assert "cc1plus" in error


def test_a_rank_that_dies_while_starting_is_named_and_its_peers_are_stopped(story: Checkout) -> None:
    running = story.start_up()
    running.wait_for(r"completion.*(creating|updating)")
    story.on(OTHER, "systemctl kill --signal=KILL rackstack-rank.service")
    assert running.finish() == 1
    assert f"rank 1 on {OTHER}" in _error(running.text)
    assert "inactive" in story.on(HEAD, "systemctl is-active rackstack-rank.service || true")


def test_the_engines_own_parser_takes_every_command_of_every_shipped_stack(story: Checkout) -> None:
    assert parser.answers(story.host(HEAD)) == parser.expected()


def test_one_interrupt_ends_with_a_sentence_and_a_rerun_goes_on(story: Checkout) -> None:
    running = story.start_up()
    running.wait_for(r"completion.*(creating|updating)")
    running.process.send_signal(signal.SIGINT)
    assert running.finish() == 1
    assert "interrupted; run `pulumi up` again" in _error(running.text)


def test_two_interrupts_leave_no_process(story: Checkout) -> None:
    running = story.start_up()
    running.wait_for(r"completion.*(creating|updating)")
    running.process.send_signal(signal.SIGINT)
    running.wait_for(r"terminate immediately")
    running.process.send_signal(signal.SIGINT)
    assert running.finish() != 0
    assert story.processes() == []


def test_up_ends_with_a_completion(story: Checkout) -> None:
    story.up()
    outputs = story.outputs()
    with _client(outputs) as client:
        answer = client.chat.completions.create(
            model=outputs["model"], messages=[{"role": "user", "content": "Hello"}], max_tokens=8
        )
    assert answer.choices[0].message.content
    assert outputs["endpoint"] == f"https://{outputs['hosts'][HEAD]}:8443/v1"
    assert outputs["apiKeys"] == {"default": outputs["apiKey"]}
    assert set(outputs["hosts"]) == {HEAD, OTHER}
    assert {command["host"] for command in outputs["commands"]} == {HEAD, OTHER}
    assert outputs["apiKey"] not in str(outputs["commands"])


def test_the_key_is_required_on_every_path_and_opens_those_that_clients_need(story: Checkout) -> None:
    outputs = story.outputs()
    for path in ("/v1/models", "/v1/chat/completions", "/health", "/metrics", "/tokenize", "/no-such-path"):
        assert _status(outputs, path, None) == (401, "no-key"), path
    assert _status(outputs, "/v1/models", outputs["apiKey"]) == (200, None)
    for path in ("/tokenize", "/invocations", "/no-such-path"):
        assert _status(outputs, path, outputs["apiKey"]) == (404, "not-allowed"), path


def test_two_hosts_hold_the_model_together(story: Checkout) -> None:
    for name, rank in ((HEAD, "0"), (OTHER, "1")):
        shown = story.on(
            name, "tr '\\0' ' ' < /proc/$(systemctl show -P MainPID rackstack-rank.service)/cmdline"
        )
        assert f"--tensor-parallel-size 2 --nnodes 2 --node-rank {rank}" in shown


def test_keys_show_in_no_argument_and_lie_only_where_they_are_asked_for(story: Checkout) -> None:
    engine_key = story.on(HEAD, f"sed -n 's/^VLLM_API_KEY=\"\\(.*\\)\"$/\\1/p' {ENGINE}").strip()
    assert engine_key
    for key, places in ((story.outputs()["apiKey"], {KEYS}), (engine_key, {KEYS, ENGINE})):
        for name in (HEAD, OTHER):
            assert key not in story.on(name, "cat /proc/*/cmdline | tr '\\0' ' '")
            found = story.on(
                name, f"grep -rlF -e {key} /etc /var/lib /var/cache /run /tmp 2>/dev/null || true"
            )
            assert set(found.split()) == (places if name == HEAD else set())
    modes = story.on(HEAD, f"stat -c %a:%U {KEYS} {ENGINE}").split()
    assert modes == ["600:rackstack-gateway", "600:root"]


def test_a_second_up_changes_nothing_and_runs_no_ansible(story: Checkout) -> None:
    shown = story.up()
    assert "17 unchanged" in shown
    assert "lock: " not in shown


def test_keys_are_added_rotated_and_withdrawn_at_the_gateway_alone_and_no_stream_is_dropped(
    story: Checkout,
) -> None:
    before = _invocations(story)
    story.change(access={**OPEN, "keys": [{"name": "default"}, {"name": "guest"}]})
    assert _changed(_up_under_a_stream(story)) == {("api-key-guest", "created"), *DOOR}
    first = story.outputs()["apiKeys"]["guest"]
    assert _status(story.outputs(), "/v1/models", first) == (200, None)

    story.change(access={**OPEN, "keys": [{"name": "default"}, {"name": "guest", "serial": 2}]})
    assert _changed(_up_under_a_stream(story)) == {("api-key-guest", "updated"), *DOOR}
    second = story.outputs()["apiKeys"]["guest"]
    assert _status(story.outputs(), "/v1/models", first) == (401, "no-key")
    assert _status(story.outputs(), "/v1/models", second) == (200, None)

    story.change(access=OPEN)
    assert _changed(_up_under_a_stream(story)) == {("api-key-guest", "deleted"), *DOOR}
    assert _status(story.outputs(), "/v1/models", second) == (401, "no-key")
    assert _invocations(story) == before


def test_a_rank_that_stopped_shows_in_a_preview_and_up_brings_the_fleet_back(story: Checkout) -> None:
    story.on(OTHER, "systemctl stop rackstack-rank.service")
    shown = story.run("preview", "--diff", "--refresh", "--stack", "lab")
    assert "rackstack-rank.service" in shown
    story.up()
    assert _answers(story)


@pytest.mark.long
def test_a_replaced_host_gets_everything_again(story: Checkout) -> None:
    story.up()  # long tests alone begin the story here
    before = story.host(OTHER)
    story.run("state", "taint", story.state()[OTHER]["urn"], "--yes", "--stack", "lab")
    story.up()
    assert story.host(OTHER).incarnation != before.incarnation
    assert _answers(story)


def test_a_stranger_meets_silence_and_a_listed_one_the_gateway_alone(story: Checkout, tmp_path: Path) -> None:
    seen = story.state()["network"]["outputs"]
    network = NetworkOutputs.model_validate({name: seen[name] for name in NetworkOutputs.model_fields})
    head, other = story.host(HEAD).address, story.host(OTHER).address
    silent = dict.fromkeys(PORTS, "silent")
    with stranger(network) as namespace:
        assert [reached(address, PORTS, namespace) for address in (head, other)] == [silent, silent]

        story.change(access={"sources": ["operator", network.subnet]})
        assert _changed(story.up()) == DOOR
        assert reached(head, PORTS, namespace) == {**silent, GATEWAY_PORT: "open"}
        assert reached(other, PORTS, namespace) == silent
        outputs = story.outputs()
        (tmp_path / "ca.pem").write_text(outputs["caCertificate"])
        curl = ["ip", "netns", "exec", namespace, "curl", "--cacert", str(tmp_path / "ca.pem")]
        url, key = f"https://{head}:{GATEWAY_PORT}", outputs["apiKey"]
        message = {"model": outputs["model"], "messages": [{"role": "user", "content": "Hello"}]}
        assert _curled(curl, f"{url}/v1/models") == "401"
        assert _curled(curl, f"{url}/v1/models", key) == "200"
        assert _curled(curl, f"{url}/tokenize", key, {"prompt": "Hello"}) == "404"
        assert _curled(curl, f"{url}/v1/chat/completions", key, {**message, "max_tokens": 4}) == "200"


def test_a_private_fleet_is_reached_by_its_line_and_by_nothing_else(story: Checkout) -> None:
    story.change(access={"sources": []})
    assert _changed(story.up()) == DOOR
    outputs = story.outputs()
    assert outputs["endpoint"] == "https://localhost:8443/v1"
    with pytest.raises(OSError, match=r"refused|timed out"):
        _status({**outputs, "endpoint": f"https://{outputs['hosts'][HEAD]}:8443/v1"}, "/v1/models", None)
    with opened(outputs["reach"], 8443):
        assert _answers(story)
    key = story.host(HEAD).host_key.split()[1]
    other = subprocess.run(
        shlex.split(outputs["reach"].replace(key, story.host(OTHER).host_key.split()[1])),
        capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    assert other.returncode == 255
    assert "Host key verification failed" in other.stderr


@pytest.mark.long
def test_a_model_that_cannot_generate_is_refused_behind_a_healthy_server(story: Checkout) -> None:
    story.change(model=story.add_model("lab-narrow", model.Shape(head_dim=16)))
    error = _error(story.up(code=1))
    assert "failed first" in error
    assert "head_dim=16" in error


def test_destroy_ends_also_with_a_dead_host_and_twice(story: Checkout) -> None:
    story.kill_machine(OTHER)
    story.destroy()
    assert traces(story.fleet) == []
    story.destroy()


def _altered(wheel: Path) -> bytes:
    """Return a whole wheel that is not the one that was pinned."""
    with zipfile.ZipFile(wheel) as whole, io.BytesIO() as made:
        with zipfile.ZipFile(made, "w") as copy:
            for name in whole.namelist():
                copy.writestr(name, whole.read(name))
        return made.getvalue()


def _killed(story: Checkout, moment: str) -> None:
    """Kill an `up` at a moment of its output; nothing of it may live on."""
    running = story.start_up()
    running.wait_for(moment)
    running.process.kill()
    running.finish()
    assert story.processes() == []
    story.recover()


def _error(shown: str) -> str:
    """Return what went wrong, as it was shown; there must be no traceback."""
    assert "Traceback" not in shown
    diagnostics = shown.split("Diagnostics:", 1)[1]
    assert "error:" in diagnostics
    return diagnostics


def _answers(story: Checkout) -> bool:
    outputs = story.outputs()
    with _client(outputs) as client:
        answer = client.completions.create(model=outputs["model"], prompt="Hello", max_tokens=4)
    return answer.usage is not None and answer.usage.completion_tokens > 0


def _client(outputs: Mapping[str, Any], *, reuse: bool = True) -> openai.OpenAI:
    """Return a client that trusts the fleet's own authority and no other, and never asks twice."""
    trusted = ssl.create_default_context(cadata=outputs["caCertificate"])
    return openai.OpenAI(
        base_url=outputs["endpoint"],
        api_key=outputs["apiKey"],
        max_retries=0,
        default_headers={} if reuse else {"Connection": "close"},
        http_client=openai.DefaultHttpxClient(verify=trusted),
    )


def _status(outputs: Mapping[str, Any], path: str, key: str | None) -> tuple[int, str | None]:
    """Return the status of a GET and the gateway's word."""
    trusted = ssl.create_default_context(cadata=outputs["caCertificate"])
    place = urlsplit(outputs["endpoint"])
    with closing(HTTPSConnection(place.netloc, timeout=10, context=trusted)) as line:
        line.request("GET", path, headers={"Authorization": f"Bearer {key}"} if key else {})
        answer = line.getresponse()
        return answer.status, answer.headers.get("X-Rackstack-Gateway")


def _curled(
    curl: Sequence[str], url: str, key: str | None = None, body: Mapping[str, Any] | None = None
) -> str:
    """Return the status that curl meets, with a body of a POST; its headers come by standard input."""
    headers = "Content-Type: application/json\n" + (f"Authorization: Bearer {key}\n" if key else "")
    asked = ["--silent", "--output", "/dev/null", "--write-out", "%{http_code}", "--max-time", "120"]
    asked += ["--header", "@-", *(["--data", json.dumps(body)] if body else [])]
    return subprocess.run(
        [*curl, *asked, url], input=headers, capture_output=True, text=True, check=True
    ).stdout


def _changed(shown: str) -> set[tuple[str, str]]:
    """Return what an `up` did to which of our resources."""
    done = re.findall(r"rack:\w+:\w+ (\S+) (created|updated|deleted|replaced) ", shown)
    return set(done)


def _invocations(story: Checkout) -> list[str]:
    """Return which starts of the ranks and of the gateway are the running ones."""
    units = ((HEAD, RANKS), (OTHER, RANKS), (HEAD, GATEWAY))
    return [story.on(host, f"systemctl show -P InvocationID {unit}") for host, unit in units]


def _up_under_a_stream(story: Checkout) -> str:
    """Bring the fleet up under a stream that begins before the gateway is touched; nothing may be dropped."""
    outputs = story.outputs()
    running = story.start_up()
    running.wait_for(r"firewall: ")
    with _streaming(outputs) as dropped:
        assert running.finish() == 0, running.text
    assert dropped == []
    return running.text


@contextmanager
def _streaming(outputs: Mapping[str, Any]) -> Iterator[list[str]]:
    """Stream one answer after the other meanwhile; yields what became of those that were not whole."""
    dropped: list[str] = []
    whole, ended = threading.Event(), threading.Event()

    def stream() -> None:
        # Each on a connection of its own: who uses one again may meet its orderly end between two answers.
        with _client(outputs, reuse=False) as client:
            while not ended.is_set():
                try:
                    pieces = list(
                        client.completions.create(
                            model=outputs["model"], prompt="Hello", max_tokens=400, stream=True,
                            extra_body={"ignore_eos": True},
                        )
                    )  # fmt: skip
                    if pieces[-1].choices[0].finish_reason != "length":
                        dropped.append(f"ended after {len(pieces)} pieces")
                    whole.set()
                except openai.OpenAIError as error:
                    dropped.append(repr(error))

    streaming = threading.Thread(target=stream, daemon=True)
    streaming.start()
    try:
        yield dropped
    finally:
        ended.set()
        streaming.join()
    assert whole.is_set()
