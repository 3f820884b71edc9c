"""Speculation, and prefill and decode apart."""

from collections.abc import Iterator, Mapping

from stacks.catalog.models import Draft
from stacks.planning import versions
from stacks.planning.choose.groups import GroupName
from stacks.planning.design import Design, GroupDesign
from stacks.planning.naming import spelled
from stacks.planning.options import documented
from stacks.planning.reasons import Option
from stacks.planning.rules.effective import effective, setting
from stacks.planning.rules.rule import Finding, Rule, either, in_layout
from stacks.planning.sized import Sized

_WITH_STAGES = "0.32"
"""The first release whose source was read: it refuses no draft with stages. The recipe for 0.27.1 does."""

_DRAFTS = "speculative-config"
_NO_HYBRID = "disable-hybrid-kv-cache-manager"
_TRANSFER = "kv-transfer-config"
_NIXL = "{kv_connector: NixlConnector, kv_role: kv_both}"
_CONNECTORS = {
    "NixlConnector",
    "NixlPullConnector",
    "NixlPushConnector",
    "MooncakeConnector",
    "MoRIIOConnector",
    "LMCacheConnectorV1",
    "LMCacheMPConnector",
    "MultiConnector",
}
"""Connectors between engines (vLLM 0.33.0, distributed/kv_transfer/kv_connector/factory.py)."""
_LAYOUT = "VLLM_SSM_CONV_STATE_LAYOUT"


def _draft_is_served(design: Design, _: Sized) -> Iterator[Finding]:
    if design.draft and design.draft.refused:
        sound = [name for name, each in design.model.facts.drafts.items() if not each.refused]
        yield Finding(
            "speculation",
            design.draft_name,
            f"is not served: {design.draft.refused}",
            f"write {either([*sound, 'none'])}",
            design.model.facts.sources.get(design.draft.source),
        )


def _draft_runs_in_stages(design: Design, _: Sized) -> Iterator[Finding]:
    release = design.engine.facts.release
    if not design.draft or versions.key(release) >= versions.key(_WITH_STAGES):
        return
    for group in design.groups:
        if group.parallel.pipeline_parallel > 1:
            yield Finding(
                in_layout(design, group, "pipeline_parallel"),
                group.parallel.pipeline_parallel,
                f"stages with the draft {design.draft_name} are not known to work in vLLM {release}: "
                "the recipe for 0.27.1 keeps them apart",
                f"write speculation: none, or take an engine of {_WITH_STAGES} or newer",
            )


def _draft_has_kernels(design: Design, _: Sized) -> Iterator[Finding]:
    backend = _backend(design, design.draft) if design.draft else None
    if backend and backend.startswith("FLASHINFER") and design.family.vendor == "amd":
        others = [
            name
            for name, each in design.model.facts.drafts.items()
            if not each.refused and _backend(design, each) != backend
        ]
        yield Finding(
            "speculation",
            design.draft_name,
            f"attends with {backend}, which is CUDA only, and the machines have {design.machine.accelerator}",
            f"write {either([*others, 'none'])}",
        )


def _backend(design: Design, draft: Draft) -> str | None:
    settings = {**draft.settings, **draft.on_family.get(design.family_name, {})}
    return str(settings["attention_backend"]) if "attention_backend" in settings else None


def _both_roles_draft_alike(design: Design, _: Sized) -> Iterator[Finding]:
    said = [setting(effective(design, group, "flags"), _DRAFTS) for group in design.groups]
    if any(each != said[0] for each in said):
        yield Finding(
            "layout",
            _DRAFTS,
            "differs between prefill and decode, and requests then hang behind healthy engines",
            "give both roles the same draft, or none",
        )


def _roles_pass_the_state_on(design: Design, _: Sized) -> Iterator[Finding]:
    if len(design.groups) == 1 or design.lab:
        return
    recurrent = design.model.facts.shape.recurrent is not None
    flags = {group.name: effective(design, group, "flags") for group in design.groups}
    env = {group.name: effective(design, group, "env") for group in design.groups}
    if recurrent and (roles := [role for role, said in env.items() if setting(said, _LAYOUT) != "DS"]):
        yield Finding(
            f"env.{_LAYOUT}",
            setting(env[roles[0]], _LAYOUT) or "unset",
            f"keeps the state of {' and '.join(roles)} in an order that cannot be sent",
            f"write {_LAYOUT}: DS",
        )
    if recurrent and (
        roles := [role for role, said in flags.items() if setting(said, _NO_HYBRID) is not False]
    ):
        said = flags[roles[0]].get(_NO_HYBRID)
        yield Finding(
            f"flags.{_NO_HYBRID}",
            spelled(said.value if said else None),
            f"leaves {' and '.join(roles)} without the cache manager that a transfer of state needs",
            f"write {_NO_HYBRID}: false",
        )
    yield from _connects(design, flags)


def _connects(design: Design, flags: Mapping[GroupName, Mapping[str, Option]]) -> Iterator[Finding]:
    """Check the connector; by hand it is the same for both roles, so where the layout has it, it stays."""
    by_hand = design.config.flags.get(_TRANSFER)
    if roles := [role for role, said in flags.items() if _TRANSFER not in said]:
        yield Finding(
            f"flags.{_TRANSFER}",
            "unset",
            f"leaves {' and '.join(roles)} without a connector, so nothing passes from prefill to decode",
            f"write {_TRANSFER}: {_NIXL}",
        )
    elif by_hand is None:
        return
    elif any(name == _TRANSFER for each in design.groups for name in _catalogued(design, each)):
        yield Finding(
            f"flags.{_TRANSFER}",
            spelled(by_hand),
            "would be the same for prefill and decode, and the layout gives each its own",
            "leave it out",
        )
    elif not isinstance(by_hand, dict) or by_hand.get("kv_connector") not in _CONNECTORS:
        yield Finding(
            f"flags.{_TRANSFER}",
            spelled(by_hand),
            "names no connector that passes a cache from prefill to decode",
            f"write {_TRANSFER}: {_NIXL}",
        )
    elif by_hand.get("kv_role") != "kv_both":
        yield Finding(
            f"flags.{_TRANSFER}",
            spelled(by_hand),
            "gives prefill and decode the same role, and with it nothing passes between them",
            f"write {_TRANSFER}: {_NIXL}",
        )


def _catalogued(design: Design, group: GroupDesign) -> Iterator[str]:
    for _, options in documented(design, group, "flags"):
        yield from options


def _transfer_knows_the_shares(design: Design, _: Sized) -> Iterator[Finding]:
    mla = design.model.facts.shape.attention.kind == "mla"
    for group in design.groups if len(design.groups) > 1 else ():
        tensor, context = group.parallel.tensor_parallel, group.parallel.decode_context_parallel
        if context not in ({1, tensor} if mla else {1}):
            yield Finding(
                in_layout(design, group, "decode_context_parallel"),
                context,
                f"is a share of the cache that {design.model.facts.shape.attention.kind.upper()} cannot "
                "be sent in",
                f"write 1 or {tensor}" if mla else "write 1",
            )


RULES = (
    Rule(
        "draft-is-served",
        "the draft is one that pays: multi-token prediction of depth 1 loses",
        "https://recipes.vllm.ai/Qwen/Qwen3.8-2.4T-A95B (features)",
        _draft_is_served,
    ),
    Rule(
        "draft-runs-in-stages",
        f"a draft with pipeline stages needs vLLM {_WITH_STAGES}: earlier ones refused it, and its gate in "
        "the recipe is stale",
        "https://github.com/vllm-project/vllm/issues/50098; https://github.com/vllm-project/vllm/pull/50514",
        _draft_runs_in_stages,
    ),
    Rule(
        "draft-has-kernels",
        "the draft's attention backend exists for the accelerators",
        "https://recipes.vllm.ai/moonshotai/Kimi-K3 (spec_decoding)",
        _draft_has_kernels,
    ),
    Rule(
        "both-roles-draft-alike",
        "prefill and decode speculate with the same settings",
        "https://github.com/AMD-AGI/Infera/blob/main/examples/recipes/kimi-k3-optimized/README.md",
        _both_roles_draft_alike,
    ),
    Rule(
        "roles-pass-the-state-on",
        "prefill and decode have a cache transfer, the DS order of the state and the hybrid cache manager",
        "https://recipes.vllm.ai/moonshotai/Kimi-K3 (pd_cluster)",
        _roles_pass_the_state_on,
    ),
    Rule(
        "transfer-knows-the-shares",
        "between prefill and decode, decode context parallel is 1 or all tensor parallel ranks, and 1 "
        "without MLA",
        "vLLM 0.33.0, vllm/config/vllm.py",
        _transfer_knows_the_shares,
    ),
)
