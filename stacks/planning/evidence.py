"""What is known of a layout, measured against the pins of this stack: the label moves when a pin moves."""

from typing import get_args

from stacks.catalog.figures import address
from stacks.catalog.hardware import Joins
from stacks.catalog.models import Evidence
from stacks.config import BareMetalMachines
from stacks.planning.design import Design
from stacks.planning.reasons import Label, Standing

OURS = "Rackstack"
_ENGINE = "vllm"
_UNKNOWN = "unknown"
_NOT_SAID = "not said"


def standing(design: Design) -> Standing:
    """Return what is known of the design's layout on its pins."""
    if design.documented is None:
        return _undocumented(design.config.accept_undocumented)
    sources = design.model.facts.sources
    read = (
        each.model_copy(update={"source": address(sources, each.source)})
        for each in design.documented.evidence
    )
    evidence = tuple(sorted(read, key=lambda each: _distance(each, design)))
    if not evidence:
        return Standing(
            label="sized only",
            sentence="sized only: the layout is written down, but nobody says that it ran",
            evidence=(),
        )
    best = evidence[0]
    if not best.ran:
        return Standing(label="sized only", sentence=_only_written(best), evidence=evidence)
    return Standing(label=_label(best, design), sentence=_sentence(best, design), evidence=evidence)


def _undocumented(accepted: str | None) -> Standing:
    nobody = "nobody is known to have run this layout"
    if accepted is None:
        return Standing(label="sized only", sentence=f"sized only: {nobody}", evidence=())
    return Standing(
        label="undocumented", sentence=f"undocumented: {nobody}; accepted because: {accepted}", evidence=()
    )


def _only_written(best: Evidence) -> str:
    return f"sized only: documented by {_who(best)} for {_on(best)}: {best.says}; nobody says that it ran"


def _distance(each: Evidence, design: Design) -> int:
    if not each.ran:
        return 3
    return 2 if each.engine != _ENGINE else len(moved(each, design)) > 0


def moved(each: Evidence, design: Design) -> tuple[str, ...]:
    """Return where the pins differ from what somebody ran.

    Whoever did not record the engine's release cannot vouch for ours; for all else, which few record, that
    counts as no difference and is said beside the label.
    """
    here = pinned(design)
    recorded = {
        "engine": each.release,
        "driver": each.driver,
        "NCCL": each.nccl,
        "fabric": each.fabric.partition(",")[0],
        "checkpoint revision": each.revision,
    }
    return tuple(
        f"{what} {then if then != _UNKNOWN else 'not recorded'} there, {here[what]} here"
        for what, then in recorded.items()
        if _differs(what, then, here[what])
    )


def _differs(what: str, then: str, now: str) -> bool:
    if then == _UNKNOWN:
        return what == "engine"
    if what == "driver":
        return now != _NOT_SAID and not _is_of(now, then)
    if what == "fabric":  # `a bridge of one machine` is none that a stack can name
        return _kind(then) in get_args(Joins) and _kind(then) != _kind(now)
    return then != now


def _is_of(driver: str, recorded: str) -> bool:
    """Return whether a driver is the one that was recorded; `580` is a branch, every release of it alike."""
    return driver == recorded or driver.partition(".")[0] == recorded


def _kind(fabric: str) -> str:
    return fabric.lower().replace(" ", "-")


def pinned(design: Design) -> dict[str, str]:
    """Return what is pinned here, by what it is; `not pinned` or `not said` where it is not."""
    revision, machines = design.checkpoint.facts.revision, design.config.machines
    driver = machines.driver if isinstance(machines, BareMetalMachines) else None
    nccl = next(
        (each for name, each in design.lock.packages.items() if name.startswith("nvidia-nccl"))
        if design.lock
        else iter(()),
        "not pinned",
    )
    return {
        "engine": design.engine.facts.commit or design.engine.facts.release,
        "driver": driver or _NOT_SAID,
        "NCCL": nccl,
        "fabric": design.fabric.title,
        "checkpoint revision": revision if isinstance(revision, str) else "not pinned",
    }


def _label(best: Evidence, design: Design) -> Label:
    if best.engine != _ENGINE:
        return "another engine's evidence"
    if moved(best, design):
        return "documented on other versions"
    return "run by Rackstack's own tests" if best.who.startswith(OURS) else "documented on these versions"


def _sentence(best: Evidence, design: Design) -> str:
    differs = "; ".join(moved(best, design))
    apart = best.driver != _UNKNOWN and pinned(design)["driver"] == _NOT_SAID
    unrecorded = ", ".join(
        what
        for what, value in (
            ("driver", best.driver),
            ("NCCL", best.nccl),
            ("fabric", best.fabric),
            ("checkpoint revision", best.revision),
        )
        if value == _UNKNOWN
    )
    parts = [
        f"{_label(best, design)}: {_who(best)} on {_on(best)}: {best.says}",
        f"moved since: {differs}" if differs else "",
        f"driver {best.driver} there, and machines.driver is not said here" if apart else "",
        f"not recorded there: {unrecorded}" if unrecorded else "",
    ]
    return "; ".join(part for part in parts if part)


def _who(each: Evidence) -> str:
    return f"{each.who} ({'date unknown' if each.date == _UNKNOWN else each.date})"


def _on(each: Evidence) -> str:
    return f"{each.engine} {'in an unknown release' if each.release == _UNKNOWN else each.release}"
