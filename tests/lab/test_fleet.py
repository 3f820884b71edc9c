"""One fleet through its faults to a completion, and out again. The tests are one story, told in order."""

from __future__ import annotations

import io
import signal
import zipfile
from contextlib import closing
from http.client import HTTPConnection
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import openai
import pytest

from tests.lab import parser
from tests.lab.outside import traces

if TYPE_CHECKING:
    from pathlib import Path

    from tests.lab.checkout import Checkout

pytestmark = pytest.mark.lab

HEAD, OTHER = "host-0", "host-1"


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
    client = openai.OpenAI(base_url=outputs["endpoint"], api_key=outputs["apiKey"])
    answer = client.chat.completions.create(
        model=outputs["model"], messages=[{"role": "user", "content": "Hello"}], max_tokens=8, temperature=0
    )
    assert answer.choices[0].message.content
    assert set(outputs["hosts"]) == {HEAD, OTHER}
    assert {command["host"] for command in outputs["commands"]} == {HEAD, OTHER}
    assert outputs["apiKey"] not in str(outputs["commands"])


def test_the_key_is_required_on_every_path_of_the_api(story: Checkout) -> None:
    endpoint = urlsplit(story.outputs()["endpoint"])
    for path in ("models", "chat/completions", "completions", "embeddings", "no-such-path"):
        with closing(HTTPConnection(endpoint.netloc, timeout=30)) as connection:
            connection.request("GET", f"{endpoint.path}/{path}")
            assert connection.getresponse().status == 401, path


def test_two_hosts_hold_the_model_together(story: Checkout) -> None:
    for name, rank in ((HEAD, "0"), (OTHER, "1")):
        shown = story.on(
            name, "tr '\\0' ' ' < /proc/$(systemctl show -P MainPID rackstack-rank.service)/cmdline"
        )
        assert f"--tensor-parallel-size 2 --nnodes 2 --node-rank {rank}" in shown


def test_the_key_shows_in_no_argument_and_no_world_readable_file(story: Checkout) -> None:
    key = story.outputs()["apiKey"]
    for name in (HEAD, OTHER):
        assert key not in story.on(name, "cat /proc/*/cmdline | tr '\\0' ' '")
        found = story.on(name, f"grep -rlF -e {key} /etc /var/lib /var/cache /run /tmp 2>/dev/null || true")
        assert found.split() == (["/etc/rackstack/rank.env"] if name == HEAD else [])
        for path in found.split():
            assert story.on(name, f"stat -c %a:%U {path}").strip() == "600:root"


def test_a_second_up_changes_nothing_and_runs_no_ansible(story: Checkout) -> None:
    shown = story.up()
    assert "14 unchanged" in shown
    assert "lock: " not in shown


def test_a_rank_that_stopped_shows_in_a_preview_and_up_brings_the_fleet_back(story: Checkout) -> None:
    story.on(OTHER, "systemctl stop rackstack-rank.service")
    shown = story.run("preview", "--diff", "--refresh", "--stack", "lab")
    assert "rackstack-rank.service" in shown
    story.up()
    assert _answers(story)


def test_a_replaced_host_gets_everything_again(story: Checkout) -> None:
    before = story.host(OTHER)
    story.run("state", "taint", story.state()[OTHER]["urn"], "--yes", "--stack", "lab")
    story.up()
    assert story.host(OTHER).incarnation != before.incarnation
    assert _answers(story)


def test_a_model_that_cannot_generate_is_refused_behind_a_healthy_server(story: Checkout) -> None:
    story.change(model=story.add_model("lab-narrow", head_dim=16))
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
    client = openai.OpenAI(base_url=outputs["endpoint"], api_key=outputs["apiKey"])
    answer = client.completions.create(model=outputs["model"], prompt="Hello", max_tokens=4)
    return answer.usage is not None and answer.usage.completion_tokens > 0
