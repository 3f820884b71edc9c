"""Steps of the bootstrap: nothing is ever half-installed, every failure is one sentence."""

from pathlib import Path

import pytest

from components import processes
from stacks.errors import Refusal
from tools.bootstrap.work import call, placed


def test_a_finished_folder_takes_its_place(tmp_path: Path) -> None:
    with placed(tmp_path / "deep" / "thing") as part:
        (part / "file").write_text("whole")
        assert not (tmp_path / "deep" / "thing").exists()
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["thing"]
    assert (tmp_path / "deep" / "thing" / "file").read_text() == "whole"


@pytest.mark.parametrize(("resume", "left"), [(False, []), (True, ["half"])], ids=["anew", "resumed"])
def test_a_failed_folder_never_takes_its_place(tmp_path: Path, *, resume: bool, left: list[str]) -> None:
    def fail() -> None:
        with placed(tmp_path / "thing") as part:
            (part / "half").touch()
            raise Refusal("no")

    with pytest.raises(Refusal):
        fail()
    assert not (tmp_path / "thing").exists()
    with placed(tmp_path / "thing", resume=resume) as part:
        assert [path.name for path in part.iterdir()] == left


def test_a_failed_command_is_one_sentence_with_its_last_line(tmp_path: Path) -> None:
    with pytest.raises(Refusal) as caught:
        call(
            ["sh", "-c", "echo first; echo the reason >&2; echo; exit 3"],
            "mend it",
            seconds=30,
            folder=tmp_path,
        )
    assert str(caught.value) == "`sh -c …` failed with 3 (the reason): mend it"


def test_a_missing_command_is_named() -> None:
    with pytest.raises(Refusal, match=r"^no-such-program could not be started .*: install it$"):
        call(["no-such-program"], "install it", seconds=30)


def test_a_command_that_takes_too_long_is_ended_with_everything_below_it(tmp_path: Path) -> None:
    script = f"sleep 600 & echo $! >{tmp_path}/below; wait"
    with pytest.raises(Refusal, match=r"^`sh -c …` did not end within 0\.3 s: look at it$"):
        call(["sh", "-c", script], "look at it", seconds=0.3)
    below = int((tmp_path / "below").read_text())
    assert processes.stat(below) is None
