"""`make report` prints a plan without an engine or a state, or says in a line each what is wrong."""

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
