"""What is known of a layout, measured against the pins of this stack: the label moves when a pin moves."""

from stacks.catalog.models import Evidence
from stacks.planning.design import Design
from stacks.planning.reasons import Label, Standing

OURS = "Rackstack"
_ENGINE = "vllm"
_UNKNOWN = "unknown"


def standing(design: Design) -> Standing:
    """Return what is known of the design's layout on its pins."""
    if design.documented is None:
        return _undocumented(design.config.accept_undocumented)
    sources = design.model.facts.sources
    read = (
        each.model_copy(update={"source": sources.get(each.source, each.source)})
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
    return Standing(label=_label(best, design), sentence=_sentence(best, design), evidence=evidence)


def _undocumented(accepted: str | None) -> Standing:
    nobody = "nobody is known to have run this layout"
    if accepted is None:
        return Standing(label="sized only", sentence=f"sized only: {nobody}", evidence=())
    return Standing(
        label="undocumented", sentence=f"undocumented: {nobody}; accepted because: {accepted}", evidence=()
    )


def _distance(each: Evidence, design: Design) -> int:
    return 2 if each.engine != _ENGINE else len(moved(each, design)) > 0


def moved(each: Evidence, design: Design) -> tuple[str, ...]:
    """Return where the pins differ from what somebody ran.

    Whoever did not record the engine's release cannot vouch for ours; for NCCL and the revision, which few
    record, that counts as no difference and is said beside the label.
    """
    pins = pinned(design)
    recorded = {"engine": each.release, "NCCL": each.nccl, "checkpoint revision": each.revision}
    return tuple(
        f"{what} {then if then != _UNKNOWN else 'not recorded'} there, {pins[what]} here"
        for what, then in recorded.items()
        if then != pins[what] and (then != _UNKNOWN or what == "engine")
    )


def pinned(design: Design) -> dict[str, str]:
    """Return what is pinned here, by what it is; `not pinned` where it is not."""
    revision = design.checkpoint.facts.revision
    nccl = next(
        (each for name, each in design.lock.packages.items() if name.startswith("nvidia-nccl"))
        if design.lock
        else iter(()),
        "not pinned",
    )
    return {
        "engine": design.engine.facts.commit or design.engine.facts.release,
        "NCCL": nccl,
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
        f"{_label(best, design)}: {best.who} ({best.date}) on {best.engine} {best.release}: {best.says}",
        f"moved since: {differs}" if differs else "",
        f"not recorded there: {unrecorded}" if unrecorded else "",
    ]
    return "; ".join(part for part in parts if part)
