"""A copy of this project with a stack, a backend and a cache of its own, as a second person would have it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
import weakref
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from components.fleet_name import fleet_id
from components.hosts import ssh
from components.hosts.record import HostRecord
from components.machines.lab import cache, names, processes
from tests.factories.project import change_fleet, copy_project
from tests.factories.pulumi import Pulumi
from tools import model

if TYPE_CHECKING:
    from collections.abc import Iterator


class Checkout(Pulumi):
    """One stack of the copy; its mirror may be spoilt, as it is made of links to the real one."""

    def __init__(
        self, home: Path, state: Path | None = None, passphrase: Path | None = None, stack: str = "lab"
    ) -> None:
        """Copy the project and make its stack.

        Args:
            home: An empty folder for the copy.
            state: A folder for backend and Pulumi's home; without it they lie beside the copy.
            passphrase: A file with the stack's passphrase, which then stands in no process's environment.
            stack: Its name.
        """
        copy_project(home / "project")
        self.cache = link_cache()
        weakref.finalize(self, shutil.rmtree, self.cache)
        super().__init__(home / "project", state or home / "state", stack, RACKSTACK_CACHE=str(self.cache))
        if passphrase is not None:
            del self.environment["PULUMI_CONFIG_PASSPHRASE"]
            self.environment["PULUMI_CONFIG_PASSPHRASE_FILE"] = str(passphrase)
        self.run("stack", "init", stack)
        self.fleet = fleet_id(stack, self.home)

    @property
    def wheels(self) -> Path:
        """The folder of the wheel mirror."""
        [mirror] = (self.cache / "wheels").iterdir()
        return mirror

    def spoil(self, path: Path, content: bytes) -> None:
        """Replace a file of this cache alone; the real one keeps its file."""
        path.unlink(missing_ok=True)
        path.write_bytes(content)

    def mend(self, path: Path) -> None:
        """Bring back the real cache's file."""
        path.unlink(missing_ok=True)
        os.link(cache.root() / path.relative_to(self.cache), path)

    def add_model(self, name: str, shape: model.Shape) -> str:
        """Add a variant of the small model to this project's catalog and this cache; returns its name."""
        with tempfile.TemporaryDirectory() as made:
            revision = model.build(Path(made), shape)
            shutil.copytree(made, self.cache / "checkpoints" / f"{name}-bf16" / revision)
            manifest = {"revision": revision, "files": model.files(Path(made))}
        catalog = self.home / "stacks" / "catalog"
        (catalog / "manifests" / f"{name}.yaml").write_text(yaml.safe_dump(manifest))
        like = yaml.safe_load((catalog / "models" / "lab-qwen3.yaml").read_text())
        like["shape"]["attention"] |= {
            "width": shape.head_dim,
            "heads": shape.heads,
            "kv_heads": shape.kv_heads,
        }
        like["shape"]["vocabulary"] = shape.rows
        like["checkpoints"]["bf16"] |= {"revision": revision, "manifest": f"manifests/{name}.yaml"}
        (catalog / "models" / f"{name}.yaml").write_text(yaml.safe_dump(like))
        return name

    def kill_machine(self, name: str) -> None:
        """End a host as a power cut would."""
        for pid in processes.by_machine()[names.machine(self.fleet, name)]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def processes(self) -> list[str]:
        """Return the processes that work in this project, once those that are ending had their time."""
        deadline = time.monotonic() + 20
        while (left := self._processes()) and time.monotonic() < deadline:
            time.sleep(0.2)
        return left

    def _processes(self) -> list[str]:
        return [line for each in Path("/proc").iterdir() if each.name.isdigit() for line in self._works(each)]

    def _works(self, process: Path) -> Iterator[str]:
        try:
            if (process / "cwd").readlink().is_relative_to(self.home):
                yield (process / "cmdline").read_text().replace("\0", " ")
        except OSError:
            return

    def change(self, **wanted: Any) -> None:
        """Change top-level values of the fleet in the stack file."""
        change_fleet(self.home, self.stack, **wanted)

    def configure(self, name: str, value: str, *flags: str) -> None:
        """Set a value of the stack's configuration, with `--secret` a secret; it shows in no argument."""
        command = ["pulumi", "config", "set", *flags, name, "--stack", self.stack, "--non-interactive"]
        done = subprocess.run(
            command,
            cwd=self.home,
            env=self.environment,
            input=value,
            text=True,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr

    def host(self, name: str) -> HostRecord:
        """Return a host as the state knows it."""
        return HostRecord.model_validate(self.state()[name]["outputs"]["record"])

    def on(self, name: str, command: str, deadline: float = 60) -> str:
        """Return what a command on a host prints; it must succeed within its deadline, in seconds."""
        answer = ssh.run(self.host(name), command, deadline=deadline)
        assert answer.code == 0, answer.err
        return answer.out


def link_cache() -> Path:
    """Make a cache whose files are those of the real one; removing or replacing one spoils only this one.

    It lies within the real one, for links do not lead to another file system.
    """
    home = Path(tempfile.mkdtemp(prefix="test-", dir=cache.root()))
    (home / "images").symlink_to(cache.root() / "images")
    for part in ("wheels", "checkpoints"):
        shutil.copytree(cache.root() / part, home / part, copy_function=os.link)
    return home
