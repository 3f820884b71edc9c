"""One fleet through its faults to a completion, and out again. The tests are one story, told in order."""

from __future__ import annotations

import io
import signal
import urllib.error
import urllib.request
import zipfile
from typing import TYPE_CHECKING

import openai
import pytest

from tests.lab.checkout import Checkout
from tests.lab.outside import traces

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.lab

HEAD, OTHER = "host-0", "host-1"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Checkout]:
    """Return the checkout of this story; its fleet is destroyed afterwards, whatever happened."""
    made = Checkout(tmp_path_factory.mktemp("fleet"))
    yield made
    made.run("cancel", "--yes", "--stack", "lab", code=None)
    made.destroy()
    assert traces(made.fleet) == []


@pytest.fixture(scope="module")
def wheel(checkout: Checkout) -> Path:
    """Return a small wheel of the mirror."""
    return next(checkout.wheels.glob("idna-*.whl"))


def test_a_killed_up_is_taken_up_where_it_was_and_every_fault_of_the_mirror_is_named(
    checkout: Checkout, wheel: Path
) -> None:
    _killed(checkout, r"host-0.*creating")
    [weights] = checkout.cache.glob("checkpoints/*/*/*.safetensors")
    whole = weights.read_bytes()
    wheel.unlink()
    checkout.spoil(weights, whole[:-1] + bytes([whole[-1] ^ 1]))
    error = _error(checkout.up(code=1))
    assert "has no wheel of idna" in error
    assert f"{weights.name} has SHA-256" in error
    checkout.mend(weights)


def test_a_wheel_with_a_wrong_hash_is_named(checkout: Checkout, wheel: Path) -> None:
    checkout.mend(wheel)
    checkout.spoil(wheel, _altered(wheel))
    error = _error(checkout.up(code=1))
    assert "the wheel of idna" in error
    assert "has SHA-256" in error
    checkout.mend(wheel)


def test_a_kill_while_a_playbook_runs_leaves_no_process_and_a_taken_port_is_named_with_its_owner(
    checkout: Checkout,
) -> None:
    checkout.on(HEAD, "systemd-run --unit=squatter python3 -m http.server 8000")
    _killed(checkout, r"engine: ")
    error = _error(checkout.up(code=1))
    checkout.on(HEAD, "systemctl stop squatter")
    assert f"{HEAD}: port 8000 is taken by" in error
    assert "python3" in error


def test_a_broken_compiler_is_found_behind_a_healthy_server(checkout: Checkout) -> None:
    compiler = checkout.on(OTHER, "g++ -print-prog-name=cc1plus").strip()
    checkout.on(OTHER, f"chmod a-x {compiler}")
    error = _error(checkout.up(code=1))
    checkout.on(OTHER, f"chmod a+x {compiler}")
    assert f"rank 1 on {OTHER} failed first" in error
    assert "cc1plus" in error


def test_a_rank_that_dies_while_starting_is_named_and_its_peers_are_stopped(checkout: Checkout) -> None:
    running = checkout.start_up()
    running.wait_for(r"completion.*(creating|updating)")
    checkout.on(OTHER, "systemctl kill --signal=KILL rackstack-rank.service")
    assert running.finish() == 1
    assert f"rank 1 on {OTHER}" in _error(running.text)
    assert "inactive" in checkout.on(HEAD, "systemctl is-active rackstack-rank.service || true")


def test_one_interrupt_ends_with_a_sentence_and_a_rerun_goes_on(checkout: Checkout) -> None:
    running = checkout.start_up()
    running.wait_for(r"completion.*(creating|updating)")
    running.process.send_signal(signal.SIGINT)
    assert running.finish() == 1
    assert "run" in _error(running.text)


def test_two_interrupts_leave_no_process(checkout: Checkout) -> None:
    running = checkout.start_up()
    running.wait_for(r"completion.*(creating|updating)")
    running.process.send_signal(signal.SIGINT)
    running.process.send_signal(signal.SIGINT)
    assert running.finish() != 0
    assert checkout.processes() == []


def test_up_ends_with_a_completion(checkout: Checkout) -> None:
    checkout.up()
    outputs = checkout.outputs()
    client = openai.OpenAI(base_url=outputs["endpoint"], api_key=outputs["apiKey"])
    answer = client.chat.completions.create(
        model=outputs["model"], messages=[{"role": "user", "content": "Hello"}], max_tokens=8, temperature=0
    )
    assert answer.choices[0].message.content
    assert set(outputs["hosts"]) == {HEAD, OTHER}
    assert {command["host"] for command in outputs["commands"]} == {HEAD, OTHER}
    assert outputs["apiKey"] not in str(outputs["commands"])


def test_the_key_is_required_on_every_path_of_the_api(checkout: Checkout) -> None:
    endpoint = checkout.outputs()["endpoint"]
    for path in ("models", "chat/completions", "completions", "embeddings", "no-such-path"):
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(f"{endpoint}/{path}", timeout=30)  # noqa: S310 -- the fleet's own address
        assert refused.value.code == 401, path


def test_two_hosts_hold_the_model_together(checkout: Checkout) -> None:
    for name, rank in ((HEAD, "0"), (OTHER, "1")):
        shown = checkout.on(
            name, "tr '\\0' ' ' < /proc/$(systemctl show -P MainPID rackstack-rank.service)/cmdline"
        )
        assert f"--tensor-parallel-size 2 --nnodes 2 --node-rank {rank}" in shown


def test_the_key_shows_in_no_argument_and_no_world_readable_file(checkout: Checkout) -> None:
    key = checkout.outputs()["apiKey"]
    for name in (HEAD, OTHER):
        assert key not in checkout.on(name, "cat /proc/*/cmdline | tr '\\0' ' '")
        found = checkout.on(
            name, f"grep -rlF -e {key} /etc /var/lib /var/cache /run /tmp 2>/dev/null || true"
        )
        modes = [checkout.on(name, f"stat -c %a {path}").strip() for path in found.split()]
        assert set(modes) <= {"600"}


def test_a_second_up_changes_nothing_and_runs_no_ansible(checkout: Checkout) -> None:
    shown = checkout.up()
    assert "14 unchanged" in shown
    assert "lock: " not in shown


def test_a_rank_that_stopped_shows_in_a_preview_and_up_brings_the_fleet_back(checkout: Checkout) -> None:
    checkout.on(OTHER, "systemctl stop rackstack-rank.service")
    shown = checkout.run("preview", "--diff", "--refresh", "--stack", "lab")
    assert "rackstack-rank.service" in shown
    checkout.up()
    assert _answers(checkout)


def test_a_replaced_host_gets_everything_again(checkout: Checkout) -> None:
    before = checkout.host(OTHER)
    checkout.run("state", "taint", checkout.state()[OTHER]["urn"], "--yes", "--stack", "lab")
    checkout.up()
    assert checkout.host(OTHER).incarnation != before.incarnation
    assert _answers(checkout)


def test_a_model_that_cannot_generate_is_refused_behind_a_healthy_server(checkout: Checkout) -> None:
    checkout.change(model=checkout.add_model("lab-narrow", head_dim=16))
    error = _error(checkout.up(code=1))
    assert "failed first" in error
    assert "head_dim=16" in error


def test_destroy_ends_also_with_a_dead_host_and_twice(checkout: Checkout) -> None:
    checkout.kill_machine(OTHER)
    checkout.destroy()
    assert traces(checkout.fleet) == []
    checkout.destroy()


def _altered(wheel: Path) -> bytes:
    """Return a whole wheel that is not the one that was pinned."""
    with zipfile.ZipFile(wheel) as whole, io.BytesIO() as made:
        with zipfile.ZipFile(made, "w") as copy:
            for name in whole.namelist():
                copy.writestr(name, whole.read(name))
        return made.getvalue()


def _killed(checkout: Checkout, moment: str) -> None:
    """Kill an `up` at a moment of its output; nothing of it may live on."""
    running = checkout.start_up()
    running.wait_for(moment)
    running.process.kill()
    running.finish()
    assert checkout.processes() == []
    checkout.run("cancel", "--yes", "--stack", "lab")


def _error(shown: str) -> str:
    """Return what went wrong, as it was shown; there must be no traceback."""
    assert "Traceback" not in shown
    diagnostics = shown.split("Diagnostics:", 1)[1]
    assert "error:" in diagnostics
    return diagnostics


def _answers(checkout: Checkout) -> bool:
    outputs = checkout.outputs()
    client = openai.OpenAI(base_url=outputs["endpoint"], api_key=outputs["apiKey"])
    answer = client.completions.create(model=outputs["model"], prompt="Hello", max_tokens=4)
    return answer.usage is not None and answer.usage.completion_tokens > 0
