"""What a debug bundle holds, who may read it, and what never gets in."""

from __future__ import annotations

import base64
import hashlib
import json
import tarfile
from typing import TYPE_CHECKING

import pytest

from components.bundles import archive, there
from components.plugin.redaction import Redactor
from tests.factories.hosts import host

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FLEET = "lab-abc123"
KEY = "a key of forty letters that nobody sees!"


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep bundles apart; hosts show nothing unless told otherwise."""
    monkeypatch.setattr(archive, "STATE", tmp_path)
    monkeypatch.setattr(archive, "KEPT", tmp_path / "bundles")
    _show(monkeypatch, {})
    return tmp_path


def _show(monkeypatch: pytest.MonkeyPatch, told: Mapping[str, str], silent: list[str] | None = None) -> None:
    monkeypatch.setattr(there, "seen", lambda _: (dict(told), silent or []))


def _write(found: Mapping[str, str], occasion: str = "serve") -> Path:
    redactor = Redactor()
    redactor.learn([KEY])
    return archive.write(FLEET, occasion, [host("a")], found, redactor.scrub)


def _inside(path: Path) -> dict[str, str]:
    with tarfile.open(path) as tar:
        return {
            each.name.split("/", 1)[1]: file.read().decode()
            for each in tar
            if (file := tar.extractfile(each)) is not None
        }


def test_it_holds_what_was_seen_with_digests_and_is_its_owners_alone(state: Path) -> None:
    archive.remember_plan(FLEET, '{"plan": 1}')
    run = state / "runs" / f"{FLEET}-serve-20261201T210000-abcd"
    (run / "artifacts/run").mkdir(parents=True)
    (run / "supervisor.log").write_text("it broke down\n")
    path = _write({"failure.txt": "a: port 8000 is taken"})
    held = _inside(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert held["failure.txt"] == "a: port 8000 is taken"
    assert held["plan.json"] == '{"plan": 1}'
    assert held[f"ansible/{run.name}/supervisor.log"] == "it broke down\n"
    assert "pulumi 3." in held["versions.txt"]
    assert held["missing.txt"] == "nothing is missing\n"
    manifest = json.loads(held.pop("manifest.json"))
    assert manifest == {
        name: {"bytes": len(text.encode()), "sha256": hashlib.sha256(text.encode()).hexdigest()}
        for name, text in held.items()
    }


@pytest.mark.usefixtures("state")
def test_a_silent_host_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    _show(monkeypatch, {"hosts/a/units.txt": "rank"}, ["host b did not answer over SSH: timed out"])
    held = _inside(_write({}))
    assert held["hosts/a/units.txt"] == "rank"
    assert held["missing.txt"] == "host b did not answer over SSH: timed out\n"


@pytest.mark.usefixtures("state")
@pytest.mark.parametrize(
    "secret",
    [
        KEY,
        base64.b64encode(KEY.encode()).decode(),
        base64.b64encode(f"Bearer:{KEY}".encode()).decode(),
        json.dumps({"said": KEY}),
        "rk-0123456789abcdefXYZ_-",
        "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEE\n-----END EC PRIVATE KEY-----",
    ],
)
def test_no_secret_gets_in(monkeypatch: pytest.MonkeyPatch, secret: str) -> None:
    _show(monkeypatch, {"hosts/a/journals/x.log": f"seen: {secret} end"}, [f"host b: {secret}"])
    everything = "".join(_inside(_write({"told.txt": f"Authorization: Bearer {secret}\n"})).values())
    assert secret not in everything
    for part in (KEY[4:-4], base64.b64encode(KEY.encode()).decode()[8:24], "MHcCAQEE", "0123456789abcdef"):
        assert part not in everything


@pytest.mark.usefixtures("state")
def test_the_first_failure_and_the_end_survive_a_long_journal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MOST_OF_A_PART", 1000)
    held = _inside(_write({"journal.log": f"the first error\n{'x' * 5000}\nthe end"}))["journal.log"]
    assert held.startswith("the first error\n")
    assert held.endswith("\nthe end")
    assert "[… 4024 characters are left out here …]" in held


@pytest.mark.usefixtures("state")
def test_what_is_too_much_is_left_out_by_name_the_largest_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MOST_BYTES", 4096)
    held = _inside(_write({"large.log": "x" * 4000, "small.log": "y"}))
    assert "large.log" not in held
    assert held["small.log"] == "y"
    assert "large.log: left out" in held["missing.txt"]


def test_the_last_ten_of_a_fleet_are_kept_and_those_of_others(state: Path) -> None:
    kept = state / "bundles"
    kept.mkdir()
    other = kept / f"{FLEET}-two-abc456-serve-20200101T000000-aaaa.tar.gz"
    other.touch()
    for second in range(12):
        (kept / f"{FLEET}-serve-20200101T0000{second:02}-aaaa.tar.gz").touch()
    newest = _write({})
    ours = sorted(each.name for each in kept.iterdir() if each != other)
    assert len(ours) == archive.MOST_BUNDLES
    assert ours[-1] == newest.name
    assert ours[0].startswith(f"{FLEET}-serve-20200101T000003")
    assert other.exists()
