"""Writes docs/gates, an overview and a page of each gate: `python -m tools.gates`."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from components.readiness.gates.judge import GATES

if TYPE_CHECKING:
    from components.readiness.gates.judge import Gate
    from components.readiness.gates.refused import Check

FOLDER = Path(__file__).parents[1] / "docs" / "gates"
_WRITTEN = "Written by `python -m tools.gates` from `components/readiness/gates`; do not edit it by hand."
_HEAD = f"""\
# Gates

{_WRITTEN}

Before a rank starts, the tools of every host of a stack over NVLink or RDMA are asked, and what they say
is judged. A refusal names the hosts, the value seen, the value wanted, what it likely comes from and the way
out of each cause, most likely first, then an id of the table below and its source; all refusals of all hosts
are told at once. What a tool says in a form that nobody has documented is a refusal, never a pass.

**Nobody here has run this on the hardware.** The forms are those of published captures, manuals and the
tools' own sources; `tests/cases/readiness/gates` has hosts that break each check and hosts that just pass.

Work down a refusal's causes in their order: each is one look and one act. Then run `up` again. A refusal that
you are sure is wrong: keep the tool's output and file it; no switch lets an engine onto such a host.

Once passed, a look compares only what is cheap: boot, driver, IMEX channel, state and rate of the network
ports. What differs is drift (`drift: {{tray-1: {{gates: "boot is …, it was …"}}}}`), and `up` gates all
again. While this fleet's own ranks hold the GPUs, their memory is where it belongs and no diagnostic run is
made.

When the engine is installed and before it starts, all its ranks exchange data once (the resource
`collectives`): all-reduce and all-to-all by the engine's own torch, as the service's user, in a unit with a
rank's limits and a rank's variables. What each received is checked. The first figures are the fleet's
baseline (`pulumi stack export`, `baseline`, GB/s as nccl-tests counts), and later ones may be 10 % below;
other ranks get another baseline, and so does `pulumi up --replace` of it; a machine that takes another's
place is held to what that one reached. It is done again when a playbook changed the hosts or the gates saw
something else (a reboot, another driver). Ranks that run on every host are left alone as long as machines,
boots and commands are those that were proved; where they run on some hosts alone, or anything of that is
another by now, they are ended first, as the start of all ranks would do next. Ranks that run everywhere, and
of which nothing was measured, are refused: nothing would start them again. Where the ranks of one host fail,
all are ended five seconds later; after Ctrl-C or a kill of Pulumi none is left. An engine that computes on
cores exchanges by gloo: results are checked, ways and speeds are not. An engine of one rank has nobody to
reach.
"""


def pages() -> dict[str, str]:
    """Return name of file → text."""
    return {"README.md": _text(_overview())} | {_file(gate): _text(_gate(gate)) for gate in GATES}


def _text(lines: Iterator[str]) -> str:
    return "\n".join(lines) + "\n"


def _file(gate: "Gate") -> str:
    return f"{gate.title.lower().replace(' ', '-')}.md"


def _overview() -> Iterator[str]:
    yield from (_HEAD, "| gate | looks at | for | refuses by |", "|---|---|---|---|")
    for gate in GATES:
        ids = ", ".join(f"`{check.id}`" for check in gate.checks)
        yield f"| [{gate.title}]({_file(gate)}) | {gate.looks_at} | {gate.when} | {ids} |"


def _gate(gate: "Gate") -> Iterator[str]:
    yield from (f"# Gate: {gate.title}", "", _WRITTEN, "")
    yield f"Looks at {gate.looks_at}. For: {gate.when}. Not run on the hardware; [how gates work](README.md)."
    for check in gate.checks:
        yield from _check(check)


def _check(check: "Check") -> Iterator[str]:
    yield from ("", f"## {check.id}", "", f"Wanted: {check.wanted}.", "")
    yield from (f"{number}. {cause}" for number, cause in enumerate(check.causes, 1))
    yield from ("", f"Source: {check.source}")


if __name__ == "__main__":
    for name, text in pages().items():
        (FOLDER / name).write_text(text)
