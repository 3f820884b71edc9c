"""Playbooks and SSH on real hosts: what is shown, what is left, and that nothing outlives its owner."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import SecretStr

from components.hosts import playbook, processes, runs, ssh
from components.hosts.playbook import Playbook, PlaybookInputs
from components.machines.lab.host import Host
from components.machines.lab.network import Network, NetworkInputs
from stacks.errors import Incomplete, Refusal, Unreachable
from tests.factories.machines import machine
from tests.factories.run import FakeRun
from tests.lab.outside import said

if TYPE_CHECKING:
    from collections.abc import Iterator

    from components.hosts.record import HostRecord

pytestmark = pytest.mark.lab

PLAYBOOKS = Path(__file__).parent / "data" / "playbooks"
WORDS = [
    "{{ no_template }}",
    "{% nor %} this",
    "{# that #}",
    "$HOME %n",
    "a\"b'c\\d",
    "é\u2028\x85",
    " ",
    "-x",
]
HIDDEN = 'a "quoted" {{ secret }} \\'


@pytest.fixture(scope="module")
def pair(fleet: str, image: Path) -> list[HostRecord]:
    """Boot two hosts, about 6 s."""
    network = Network().create(NetworkInputs(fleet=fleet), FakeRun())
    asked = [machine(network, fleet, name, index, image) for index, name in ((2, "a"), (3, "b"))]
    with ThreadPoolExecutor() as pool:
        return [made.record for made in pool.map(lambda each: Host().create(each, FakeRun()), asked)]


@pytest.fixture
def memory() -> Iterator[Path]:
    """Give runs a folder in memory of the test's own; its path is short enough for SSH's sockets."""
    folder = Path(tempfile.mkdtemp(prefix="t-", dir="/dev/shm"))
    yield folder
    folder.rmdir()


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, memory: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Use the small playbook of the tests, and folders of their own for what runs leave."""
    monkeypatch.setattr(playbook, "PLAYBOOKS", PLAYBOOKS)
    monkeypatch.setattr(runs, "KEPT", tmp_path / "kept")
    monkeypatch.setattr(runs, "MEMORY_FOLDERS", (str(memory),))
    yield tmp_path / "kept"
    ssh.close_all()
    assert processes.naming(str(memory)) == []
    assert list(memory.iterdir()) == []


def _inputs(hosts: list[HostRecord], fleet: str, **variables: Any) -> PlaybookInputs:
    return PlaybookInputs(
        fleet=fleet,
        playbook="ping",
        hosts=hosts,
        variables={"ping_words": WORDS, "ping_failing": "", "ping_seconds": 0, **variables},
        host_variables={},
        secrets={"ping_secret": SecretStr(HIDDEN)},
        roles={"ping": "1"},
        after=[],
    )


def test_a_run_is_made_looked_at_and_undone(pair: list[HostRecord], fleet: str, kept: Path) -> None:
    inputs, run = _inputs(pair, fleet), FakeRun()
    made = Playbook().create(inputs, run)
    assert "b: ping: take some time" in run.said
    assert any(line.startswith("ping: done on 2 hosts in ") for line in run.said)
    shown = json.loads(said(pair[1], f"cat /var/lib/rackstack/{fleet}/ping.json"))
    assert shown["facts"]["words"] == [*WORDS, HIDDEN]
    assert list(kept.iterdir()) == []

    assert Playbook().read(inputs, made, FakeRun()).drift == {}
    changed = inputs.model_copy(update={"roles": {"ping": "2"}})
    assert set(Playbook().read(changed, made, FakeRun()).drift) == {"a", "b"}

    alone = Playbook().update(inputs, _inputs(pair[:1], fleet), made, FakeRun())
    assert said(pair[1], f"ls /var/lib/rackstack/ | grep -c {fleet} || true") == "0"
    Playbook().delete(_inputs(pair[:1], fleet), alone, FakeRun())
    assert said(pair[0], f"ls /var/lib/rackstack/ | grep -c {fleet} || true") == "0"


def test_the_failing_host_is_named_and_what_is_kept_holds_no_secret(
    pair: list[HostRecord], fleet: str, kept: Path
) -> None:
    with pytest.raises(Incomplete) as failed:
        Playbook().create(_inputs(pair, fleet, ping_failing="b"), FakeRun())
    sentence, where = failed.value.reasons
    assert sentence.startswith("b: b shall fail")
    (folder,) = kept.iterdir()
    assert folder.name in where
    for path in (path for path in folder.rglob("*") if path.is_file()):
        assert "quoted" not in path.read_text(), path
        assert "ANSIBLE_" not in path.read_text(), path


def test_nothing_is_begun_while_a_host_does_not_answer(pair: list[HostRecord], fleet: str) -> None:
    dead = pair[1].model_copy(update={"port": 9})
    run = FakeRun()
    with pytest.raises(Refusal, match=r"host b \(root@.*:9\) did not answer over SSH"):
        Playbook().create(_inputs([pair[0], dead], fleet), run)
    assert run.said == []


def test_a_stop_ends_the_run_within_its_step(pair: list[HostRecord], fleet: str) -> None:
    run = _Watched()
    with ThreadPoolExecutor() as pool:
        running = pool.submit(Playbook().create, _inputs(pair, fleet, ping_seconds=61), run)
        assert run.waiting.wait(60)
        assert not any("quoted" in words for words in _arguments_here())
        run.stop.set()
        with pytest.raises(Incomplete, match=r"was stopped; .*run the command again to go on"):
            running.result()
    assert run.said[-1].endswith("ping: take some time")


def test_a_run_past_its_deadline_is_ended(pair: list[HostRecord], fleet: str) -> None:
    with pytest.raises(Incomplete, match=r"took more than its 5 s"):
        Playbook().create(_inputs(pair, fleet, ping_seconds=61), FakeRun(deadline=5.0))


def test_a_run_whose_supervisor_is_killed_is_ended_too(pair: list[HostRecord], fleet: str) -> None:
    run = _Watched()
    with ThreadPoolExecutor() as pool:
        running = pool.submit(Playbook().create, _inputs(pair, fleet, ping_seconds=61), run)
        assert run.waiting.wait(60)
        (supervisor,) = [pid for pid in processes.descendants() if b"hosts.supervisor" in _arguments(pid)]
        os.kill(supervisor, 9)
        with pytest.raises(Incomplete, match="its supervisor process was killed"):
            running.result()


def test_nothing_outlives_a_plugin_that_is_killed(
    pair: list[HostRecord], fleet: str, kept: Path, memory: Path
) -> None:
    inputs = _inputs(pair, fleet, ping_seconds=61).model_dump(mode="json")
    inputs["secrets"] = {"ping_secret": HIDDEN}
    with subprocess.Popen(
        [sys.executable, "-c", _PLUGIN, json.dumps(inputs), str(PLAYBOOKS), str(kept), str(memory)],
        stdout=subprocess.PIPE,
        cwd=runs.ROOT,
    ) as plugin:
        assert plugin.stdout is not None
        assert any(b"take some time" in line for line in plugin.stdout)
        (folder,) = memory.iterdir()
        assert processes.naming(str(folder))
        plugin.kill()
    end = time.monotonic() + 30  # far less than its step takes
    while processes.naming(str(folder)) or folder.exists():
        assert time.monotonic() < end, processes.naming(str(folder))
        time.sleep(0.1)
    (left,) = kept.iterdir()
    assert not (left / "artifacts" / "run" / "command").exists()


def test_a_command_gets_its_input_and_its_output_is_capped(pair: list[HostRecord]) -> None:
    answer = ssh.run(pair[0], "cat; echo oops >&2; exit 3", deadline=30, stdin="x" * (3 << 20))
    assert (answer.code, len(answer.out), answer.err) == (3, ssh.MOST_OUTPUT, "oops\n")


def test_the_input_of_a_command_that_is_given_none_has_ended(pair: list[HostRecord]) -> None:
    assert ssh.run(pair[0], "cat; readlink /proc/$$/fd/0", deadline=30).out == "/dev/null\n"


def test_a_command_that_does_not_end_is_left_at_its_deadline(pair: list[HostRecord]) -> None:
    with pytest.raises(Unreachable, match="did not end within its deadline"):
        ssh.run(pair[0], "sleep 60", deadline=1)
    assert ssh.run(pair[0], "echo still there", deadline=10).out == "still there\n"


def test_many_commands_share_one_connection(pair: list[HostRecord]) -> None:
    with ThreadPoolExecutor(30) as pool:
        ports = pool.map(lambda _: ssh.run(pair[0], "echo $SSH_CONNECTION", deadline=30).out, range(30))
        assert len(set(ports)) == 1


def test_another_host_key_is_refused(pair: list[HostRecord]) -> None:
    stranger = pair[0].model_copy(update={"host_key": pair[1].host_key})
    with pytest.raises(Unreachable, match="another host key than the known one"):
        ssh.run(stranger, "true", deadline=10)


def test_root_is_had_through_sudo(pair: list[HostRecord], fleet: str) -> None:
    said(pair[0], "useradd --create-home ops && cp -r /root/.ssh /home/ops && chown -R ops /home/ops/.ssh")
    user = pair[0].model_copy(update={"user": "ops"})
    with pytest.raises(Refusal, match="refuses root to ops"):
        Playbook().create(_inputs([user], fleet), FakeRun())
    said(pair[0], "echo 'ops ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/ops")
    assert ssh.run(user, "id -u", deadline=10).out == "0\n"
    assert ssh.run(user, "id -un", deadline=10, root=False).out == "ops\n"
    inputs = _inputs([user], fleet)
    Playbook().delete(inputs, Playbook().create(inputs, FakeRun()), FakeRun())


class _Watched(FakeRun):
    """Tells when the run has come to its long step."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting = threading.Event()

    def progress(self, message: str) -> None:
        super().progress(message)
        if "take some time" in message:
            self.waiting.set()


def _arguments(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()


def _arguments_here() -> list[str]:
    listing = subprocess.run(["ps", "axww", "-o", "args"], capture_output=True, text=True, check=True)
    return listing.stdout.splitlines()


_PLUGIN = """
import json, sys
from pathlib import Path
from components.hosts import playbook, runs
from tests.factories.run import FakeRun
playbook.PLAYBOOKS, runs.KEPT, runs.MEMORY_FOLDERS = Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4:]
class Run(FakeRun):
    def progress(self, message):
        print(message, flush=True)
inputs = json.loads(sys.argv[1])
playbook.Playbook().create(playbook.PlaybookInputs.model_validate(inputs, strict=False), Run())
"""
