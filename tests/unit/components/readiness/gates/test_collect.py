"""What the program for the hosts prints, on a host that has none of the tools."""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path

import pytest

from components.hosts.markers import UNIT
from components.readiness.gates import collect
from components.readiness.gates.sight import Sight
from tests.factories.processes import deaf_to_signals

TREE = {
    "mlx5_0/ports/1/state": "4: ACTIVE\n",
    "mlx5_0/ports/1/phys_state": "5: LinkUp\n",
    "mlx5_0/ports/1/rate": "400 Gb/sec (4X NDR)\n",
    "mlx5_0/ports/1/link_layer": "InfiniBand\n",
    "mlx5_0/device/current_link_width": "16\n",
    "mlx5_0/device/max_link_width": "16\n",
}


@pytest.fixture
def infiniband(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in TREE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(collect, "INFINIBAND", tmp_path)
    return tmp_path


@pytest.mark.usefixtures("infiniband")
def test_devices_are_told_with_their_ports_and_lanes() -> None:
    assert collect.nics() == {
        "mlx5_0": {
            "ports": {
                "1": {
                    "state": "4: ACTIVE",
                    "phys_state": "5: LinkUp",
                    "rate": "400 Gb/sec (4X NDR)",
                    "link_layer": "InfiniBand",
                }
            },
            "width": "16",
            "most": "16",
        }
    }
    assert collect.peek()["shows"]["ports"] == "mlx5_0:1 4: ACTIVE 400 Gb/sec (4X NDR)"


@pytest.mark.usefixtures("infiniband")
@pytest.mark.parametrize("spans", [True, False])
def test_what_is_looked_at_fits_what_is_read(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *, spans: bool
) -> None:
    monkeypatch.setattr(collect, "ask", lambda *command, **_: {"code": 127, "out": "", "err": command[0]})
    collect.main("look", json.dumps({"peer": "10.0.0.1", "user": "rackstack", "unit": UNIT, "imex": spans}))
    found = json.loads(capsys.readouterr().out) | {"shows": {}, "clock": 1.0, "asked": 1.0, "answered": 1.0}
    sight = Sight.model_validate_json(json.dumps(found))
    assert (sight.smi.code, sight.imex is not None, sight.channels is not None) == (127, spans, spans)
    assert sight.diag is not None


def test_no_diagnostic_run_disturbs_ranks_of_this_fleet(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def ask(*command: str, **_: float) -> dict[str, object]:
        asked.append(command[0])
        return {"code": 0, "out": "<pid>7</pid>" if command[1:] == ("-q", "-x") else "", "err": ""}

    monkeypatch.setattr(collect, "ask", ask)
    monkeypatch.setattr(collect, "process", lambda _: {"command": "vllm", "unit": UNIT})
    found = collect.look({"peer": "10.0.0.1", "user": "rackstack", "unit": UNIT, "imex": False})
    assert found["diag"] is None
    assert found["processes"] == {"7": {"command": "vllm", "unit": UNIT}}
    assert "dcgmi" not in asked


def _logged(monkeypatch: pytest.MonkeyPatch, lines: list[str]) -> tuple[list[str], int]:
    monkeypatch.setattr(collect, "ask", lambda *_, **__: {"code": 0, "out": "\n".join(lines), "err": ""})
    said = collect.kernel()
    return said["out"].splitlines(), said["lines"]


def test_of_the_kernel_log_only_what_names_an_error_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [
        "[1.0] usb 1-1: new",
        "[2.0] NVRM: Xid (PCI:0000:01:00): 79, x",
        "[3.0] nvidia-nvswitch0: SXid (a): 1",
    ]
    assert _logged(monkeypatch, lines) == (lines[1:], 3)
    assert _logged(monkeypatch, []) == ([], 0)


def test_no_error_is_hidden_by_many_lines_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    often = [f"[{second}.0] NVRM: Xid (PCI:0000:01:00): 31, pid={second}" for second in range(5000)]
    switch = [
        f"[9{second}.0] nvidia-nvswitch1: SXid (PCI:0000:c1:00.0): 28006, Non-fatal" for second in range(300)
    ]
    once = [
        "[9000.0] NVRM: Xid (PCI:0000:01:00): 79, pid=1",
        "[9001.0] NVRM: Xid (PCI:0000:02:00): 31, pid=1",
        "[9002.0] nvidia-nvswitch1: SXid (PCI:0000:c1:00.0): 28006, Fatal",
        "[9003.0] NVRM: Xid: something new",
    ]
    told, lines = _logged(monkeypatch, [*often, *switch, *once])
    assert (told, lines) == ([often[0], switch[0], *once], 5304)


def test_the_lists_of_clocks_are_left_out() -> None:
    xml = "<a>\n\t<supported_clocks>\n\t\t<value>1</value>\n\t</supported_clocks>\n\t<b>2</b>\n</a>\n"
    assert collect.short(xml) == "<a>\n<b>2</b>\n</a>\n"


def test_a_tool_that_is_not_there_or_hangs_has_an_exit_status_too() -> None:
    assert collect.ask("/nonexistent/tool")["code"] == collect.NOT_THERE
    assert collect.ask("sleep", "5", patience=0.01) == {
        "code": 124,
        "out": "",
        "err": "it did not end within 0.01 s",
    }
    assert collect.ask("sh", "-c", "echo a; exit 3") == {"code": 3, "out": "a\n", "err": ""}


def test_a_tool_that_no_signal_ends_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collect, "END_PATIENCE", 0.01)
    with deaf_to_signals(monkeypatch) as left:
        assert collect.ask("sleep", "60", patience=0.01)["code"] == collect.TOO_LATE
        assert [process.poll() for process in left] == [None]


def test_a_process_is_told_by_its_command(tmp_path: Path) -> None:
    del tmp_path
    assert "python" in collect.process("self")["command"]
    assert collect.process("0") == {"command": "a process that ended", "unit": ""}


def test_it_needs_nothing_but_the_standard_library() -> None:
    tree = ast.parse(Path(collect.__file__).read_text())
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names
