"""One fleet that serves, for faults that need an engine or Pulumi. Their tests are one story, in order."""

from __future__ import annotations

import json
import re
import secrets
import signal
import ssl
import subprocess
from contextlib import closing, contextmanager, suppress
from http.client import HTTPSConnection
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import pytest

from components import processes
from components.hosts import ssh
from components.machines.lab import names
from components.machines.lab.processes import by_machine
from tests.lab import sweep
from tests.lab.checkout import Checkout
from tests.lab.outside import traces

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tests.factories.pulumi import Running

HEAD, OTHER = "host-0", "host-1"
UNIT: Final = "rackstack-rank.service"
DEEP: Final = 'a folder/100%_$dollar/it\'s "here"/Über & Öl #1/' + "deep/" * 12
"""What a checkout's folder may be called; a colon may not, as lists of paths are written with it."""
LONGEST_KEY: Final = "k_" + "9" * 29
"""A name as long as the name of a key may be."""
SECRET_FILES: Final = {
    "/etc/rackstack/rank.env",
    "/etc/rackstack/gateway/keys.conf",
    "/etc/rackstack/gateway/tls.key",
}
"""The only files of a host that may hold a secret."""
# A preview's `+ host-1: {`, and below it `+ serve: "…"`.
_OPENED: Final = re.compile(r"\s*[-+~]?\s*([\w-]+)\s*: \{")
_TOLD: Final = re.compile(r"\s*[-+~]?\s*(\w+)\s*: \"(.+)\"")


class Served(Checkout):
    """A checkout in a folder with a difficult name, whose secrets are known and looked for.

    Attributes:
        secrets: Name → secret, everything that was ever set or made.
        watch: What all processes of this machine and its hosts have shown so far.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.started: list[Running] = []
        self.passphrase = folder / "passphrase"
        self.passphrase.touch(mode=0o600)
        self.secrets = {
            "the configured key": f"rk-{secrets.token_urlsafe(24)}+/=",
            "the passphrase": secrets.token_urlsafe(24),
        }
        self.passphrase.write_text(self.secrets["the passphrase"])
        self.watch = sweep.Watch(self.secrets)
        super().__init__(folder / DEEP, folder / "state", self.passphrase)
        self.configure("clientKey", self.secrets["the configured key"], "--secret")
        self.grant({"name": LONGEST_KEY, "secret": "clientKey"}, {"name": "other"})

    @property
    def backend(self) -> Path:
        """The folder that holds the state."""
        return self.folder / "state" / "backend"

    def start(self, *arguments: str) -> Running:
        """Start a command, and remember it for the end."""
        self.started.append(super().start(*arguments))
        return self.started[-1]

    def end(self) -> None:
        """Take everything away, also what a broken test has left running."""
        for running in self.started:
            running.process.kill()
        self.recover()
        self.destroy()

    def grant(self, *keys: dict[str, Any], **more: Any) -> None:
        """Write the API keys, and other values of `access`, into the stack file."""
        self.change(access={"sources": ["operator"], "keys": list(keys), **more})

    @contextmanager
    def halted(self) -> Iterator[None]:
        """Stop the runs of Ansible that are under way, so that what they hold on hosts stays held."""
        runs = [pid for pid in processes.pids() if self._is_run(pid)]
        assert runs
        processes.send(signal.SIGSTOP, runs)
        try:
            yield
        finally:
            processes.send(signal.SIGCONT, runs)

    def _is_run(self, pid: int) -> bool:
        if not any(word.endswith("/ansible-playbook") for word in processes.arguments(pid)):
            return False
        with suppress(OSError):  # it has just ended
            return Path(f"/proc/{pid}/cwd").readlink().is_relative_to(self.home)
        return False

    def answers(self, key: str | None = None) -> bool:
        """Say whether the gateway lets a completion through with a key, by default the first."""
        outputs = self.outputs()
        url = urlsplit(outputs["endpoint"])
        trust = ssl.create_default_context(cadata=outputs["caCertificate"] or self.authority)
        question = {"model": outputs["model"], "prompt": "Hello", "max_tokens": 4}
        headers = {"Authorization": f"Bearer {key or outputs['apiKey']}", "Content-Type": "application/json"}
        with closing(HTTPSConnection(url.netloc, timeout=120, context=trust)) as line:
            line.request("POST", f"{url.path}/completions", json.dumps(question), headers)
            answer = line.getresponse()
            said = json.loads(answer.read())
        return answer.status == 200 and said["usage"]["completion_tokens"] > 0

    authority = ""
    """What a client trusts where the certificate is given, as PEM."""

    def preview(self) -> str:
        """Return what a preview with a look says has changed on the hosts."""
        return self.run("preview", "--diff", "--refresh", "--stack", self.stack)

    def drift(self) -> str:
        """Return what a preview names as changed, nested there, in lines of host, role and sentence."""
        host, said = "", []
        for line in self.preview().splitlines():
            if opened := _OPENED.match(line):
                host = opened[1]
            elif (told := _TOLD.match(line)) and host in (HEAD, OTHER):
                said.append(f"{host}: {told[1]}: {told[2]}")
        return "\n".join(dict.fromkeys(said))

    def invocations(self) -> dict[str, str]:
        """Return host → the start of its rank that is running, which is like no other."""
        question = f"systemctl show {UNIT} --value --property=InvocationID"
        return {name: self.on(name, question).strip() for name in (HEAD, OTHER)}

    def launchers(self) -> dict[str, int]:
        """Return host → when its oldest process was born; another moment is another boot."""
        running = by_machine()
        return {name: min(_born(running[names.machine(self.fleet, name)])) for name in (HEAD, OTHER)}

    def learn(self) -> None:
        """Learn the secrets that were made, from the state."""
        made = sweep.in_state(self.run("stack", "export", "--show-secrets", "--stack", self.stack))
        known = set(self.secrets.values())
        self.secrets |= {name: text for name, text in made.items() if text not in known}
        self.watch.secrets = dict(self.secrets)

    def betrayed(self) -> list[str]:
        """Return every place that holds a secret and may not."""
        here = sweep.here(self.secrets, self.folder)
        return [
            *(path for path in here if path != str(self.passphrase)),
            *(
                f"{each.program} showed {each.secrets} as {each.place}"
                for each in self.watch.seen
                if not _may(each)
            ),
            *self._on_hosts(),
        ]

    def _on_hosts(self) -> Iterator[str]:
        there = self.state().keys()
        for name in (each for each in (HEAD, OTHER) if each in there):
            host = self.host(name)
            yield from (f"{name}: {held}" for held in sweep.on(host, self.secrets) if not _may_lie(held))
            yield from (f"{name}: journal: {line}" for line in sweep.in_journal(host, self.secrets))


@pytest.fixture(scope="package")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Lend the fleet to all tests of the story; it is destroyed with the last of them, whatever happened."""
    made = Served(tmp_path_factory.mktemp("served"))
    with made.watch:
        yield made
        ssh.close_all()
        made.end()
    assert traces(made.fleet) == []


@contextmanager
def read_only(folder: Path) -> Iterator[Callable[[], None]]:
    """Lend what makes a folder read-only from one moment on; it is writable again afterwards."""
    subprocess.run(["mount", "--bind", folder, folder], check=True)

    def spoil() -> None:
        # While a file is being written there, the kernel refuses.
        remount = ["mount", "-o", "remount,bind,ro", str(folder)]
        assert any(
            not subprocess.run(remount, capture_output=True, check=False).returncode for _ in range(1000)
        )

    try:
        yield spoil
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def _born(pids: Iterable[int]) -> list[int]:
    return [seen.born for pid in pids if (seen := processes.stat(pid))]


def _may(shown: sweep.Shown) -> bool:
    """Say whether a process may show a secret, because there is no other way to tell it.

    The engine has its key from a variable, and Pulumi gives a program its configuration in one.
    """
    if shown.place == "VLLM_API_KEY":
        return shown.user != 0
    return shown.place == "PULUMI_CONFIG" and shown.program == "python3 pulumi-language-python-exec"


def _may_lie(held: sweep.Held) -> bool:
    return held.path in SECRET_FILES and held.mode.startswith("600:")
