"""What the plugin hands to the supervisor of one Ansible run."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Job:
    """One run.

    Attributes:
        parent: Process that the run must not outlive.
        playbook: Name of the playbook, for sentences.
        path: The playbook's file.
        private: Folder in memory, 0700, with inventory and secrets; removed at the end.
        artefacts: Folder for what Ansible leaves; removed after a good run.
        hosts: Everybody who has to take part.
        withheld: The secrets, for taking them out of what is kept.
        idle: Seconds without any event after which the run is ended.
        deadline: Seconds for the whole run; None for no limit.
        openers: Commands to run before, each of which leaves a connection to a jump host open.
    """

    parent: int
    playbook: str
    path: str
    private: str
    artefacts: str
    hosts: list[str]
    withheld: list[str]
    idle: float
    deadline: float | None
    openers: list[list[str]]

    @classmethod
    def read(cls, path: Path) -> "Job":
        """Read what `write` wrote."""
        return cls(**json.loads(path.read_text(encoding="utf-8")))

    def write(self, path: Path) -> None:
        """Write the job to a file."""
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")

    def tidy(self, *, keep: bool) -> None:
        """Remove what must not stay: secrets always, artefacts unless they are to be kept."""
        shutil.rmtree(self.private, ignore_errors=True)
        artefacts = Path(self.artefacts)
        if not keep:
            shutil.rmtree(artefacts, ignore_errors=True)
            return
        (artefacts / "artifacts/run/command").unlink(missing_ok=True)  # holds the whole environment
        for path in artefacts.rglob("*"):
            if path.is_file():
                self._scrub(path)

    def _scrub(self, path: Path) -> None:
        text = cleaned = path.read_bytes()
        for secret in filter(None, self.withheld):
            for form in _forms(secret):
                cleaned = cleaned.replace(form.encode(), b"[secret]")
        if cleaned != text:
            path.write_bytes(cleaned)


def _forms(secret: str) -> Iterator[str]:
    """Yield a secret as it looks in JSON, and in JSON within JSON: events quote results that quote output."""
    for _ in range(4):
        yield secret
        secret = json.dumps(secret)[1:-1]
