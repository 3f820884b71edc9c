"""`make report` prints a plan without an engine or a state, or says in a line each what is wrong."""

import subprocess
import sys
from pathlib import Path

import pytest

from tools import report

FLEET = "config:\n  rackstack:fleet:\n    machines: {provider: lab, count: 0, cpus: 1}\n    engin: x\n"


@pytest.mark.parametrize(
    ("form", "start"), [("md", "# kimi-k3-gb300: "), ("svg", "<svg "), ("json", '{\n  "plan": {\n')]
)
def test_each_format(form: str, start: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert report.main("kimi-k3-gb300", form) == 0
    out, err = capfd.readouterr()
    assert out.startswith(start)
    assert not err


@pytest.mark.parametrize(
    ("stack", "form", "sentence"),
    [
        ("lab", "pdf", "FORMAT=pdf: there is no such format; take one of md, svg, json\n"),
        (
            "kimi-k3-gb30",
            "md",
            "STACK=kimi-k3-gb30: there is no stacks/Pulumi.kimi-k3-gb30.yaml; did you mean ",
        ),
        ("../lab", "md", "STACK=../lab: there is no "),
        ("", "md", "STACK=: there is no "),
    ],
)
def test_unknown_names_are_told_with_those_that_are_known(
    stack: str, form: str, sentence: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert report.main(stack, form) == 1
    out, err = capfd.readouterr()
    assert not out
    assert err.startswith(sentence)
    assert err.count("\n") == 1


def test_refusals_come_one_per_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "Pulumi.wrong.yaml").write_text(FLEET)
    monkeypatch.setattr(report, "_STACKS", tmp_path)
    assert report.main("wrong", "md") == 1
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) > 3
    assert all(line.startswith(("rackstack:fleet", "stacks/Pulumi.wrong.yaml")) for line in lines)


@pytest.mark.parametrize("words", [(), ("lab",), ("lab", "md", "more")])
def test_too_few_and_too_many_words_get_the_usage(
    words: tuple[str, ...], capfd: pytest.CaptureFixture[str]
) -> None:
    assert report.main(*words) == 2
    assert capfd.readouterr() == ("", "usage: python -m tools.report STACK FORMAT\n")


def test_a_stack_file_that_is_no_file_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "Pulumi.folder.yaml").mkdir()
    (tmp_path / "Pulumi.nowhere.yaml").symlink_to(tmp_path / "gone")
    (tmp_path / "Pulumi.binary.yaml").write_bytes(b"config: \xff\n")
    monkeypatch.setattr(report, "_STACKS", tmp_path)
    for stack in ("folder", "nowhere"):
        assert report.main(stack, "md") == 1
        assert capfd.readouterr().err == (
            f"STACK={stack}: there is no stacks/Pulumi.{stack}.yaml; known are: binary\n"
        )
    assert report.main("binary", "md") == 1
    assert capfd.readouterr().err == (
        "stacks/Pulumi.binary.yaml:1: is no text in UTF-8; save the file in UTF-8\n"
    )


def test_a_full_disk_is_told() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "tools.report", "lab", "md"],
            check=False,
            cwd=Path(report.__file__).parents[1],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 1
    assert done.stderr == (
        "the report cannot be written to stdout: No space left on device; make room there\n"
    )
