"""The shipped models say what the facts say, and every shipped stack is a layout that they document."""

from functools import reduce
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from stacks import catalog as room
from stacks.catalog import Catalog, load
from stacks.catalog.figures import Reasoned
from stacks.catalog.models import DocumentedLayout, ModelFacts
from stacks.config import FleetConfig, parse
from stacks.values import Value
from tests.unit.stacks.cases import CASES

FACTS: Final[dict[str, Any]] = yaml.safe_load((CASES / "models.yaml").read_text())
STACKS: Final = Path(room.__file__).parents[1]
BITS: Final = {"bf16": 16, "fp8": 8, "mxfp4": 4 + 8 / 32, "nvfp4": 4 + 8 / 16}
"""Bits of one routed weight with the scale of its block; FP8's scales are left out, at one for 16,384."""


@pytest.fixture(scope="module")
def shipped() -> Catalog:
    return load()


def fleet(stack: str) -> FleetConfig:
    text = (STACKS / f"Pulumi.{stack}.yaml").read_text()
    return parse(yaml.safe_load(text)["config"]["rackstack:fleet"], stack)


def at(facts: object, path: str) -> Any:
    """Return what stands at a place of a model's file."""
    return reduce(
        lambda value, key: value[key] if isinstance(value, dict) else vars(value)[key], path.split("."), facts
    )


def layouts(facts: ModelFacts, accelerator: str, title: str) -> list[DocumentedLayout]:
    return [each for each in facts.layouts if accelerator in each.accelerators and each.title == title]


@pytest.mark.parametrize(
    ("model", "path", "value"),
    [(model, path, value) for model, each in FACTS["figures"].items() for path, value in each.items()],
)
def test_figures_are_those_of_the_facts(shipped: Catalog, model: str, path: str, value: object) -> None:
    assert at(shipped.models[model].facts, path) == value


@pytest.mark.parametrize("case", FACTS["weights"], ids=lambda case: case["split"])
def test_weights_of_one_gpu_are_those_of_the_facts(shipped: Catalog, case: dict[str, int]) -> None:
    weights = shipped.models["kimi-k3"].facts.checkpoints["mxfp4"]
    assert isinstance(weights.routed_bytes, int)
    assert isinstance(weights.tensor_bytes, int)
    each = case["tensor"] * case["pipeline"]
    held = weights.routed_bytes / (each * case["data"]) + (weights.tensor_bytes - weights.routed_bytes) / each
    assert round(held / 1e9) == case["gigabytes"]


@pytest.mark.parametrize(
    ("model", "checkpoint", "layers", "weights_of_an_expert"),
    [
        # The first layer of K3 is dense. Its published figure proves the rule to the byte.
        ("kimi-k3", "mxfp4", (92, 0), 3 * 3584 * 3072),
        # 92 layers, and the one of the prediction head.
        ("qwen38", "nvfp4", (93, 1), 3 * 8192 * 2048),
        ("qwen38", "fp8", (93, 1), 3 * 8192 * 2048),
        ("qwen38", "bf16", (93, 1), 3 * 8192 * 2048),
    ],
)
def test_bytes_of_routed_experts_follow_from_the_shape(
    shipped: Catalog, model: str, checkpoint: str, layers: tuple[int, int], weights_of_an_expert: int
) -> None:
    facts = shipped.models[model].facts
    weights, experts = facts.checkpoints[checkpoint], facts.shape.experts
    assert experts is not None
    one = experts.routed * weights_of_an_expert * BITS[weights.format] / 8
    assert (weights.routed_bytes, weights.head_bytes) == (layers[0] * one, layers[1] * one)


def test_three_checkpoints_agree_on_what_qwen_has_beside_routed_experts(shipped: Catalog) -> None:
    """The head's experts would be 14 to 52 GB, so they are among the routed ones in each of the formats."""
    checkpoints = shipped.models["qwen38"].facts.checkpoints
    rest = []
    for name in ("bf16", "fp8", "nvfp4"):
        facts = checkpoints[name]
        assert isinstance(facts.tensor_bytes, int)
        assert isinstance(facts.routed_bytes, int)
        rest.append((facts.tensor_bytes - facts.routed_bytes) / 1e9)
    assert rest == pytest.approx([99.2, 99.6, 99.2], abs=0.05)


def _fixed(value: object) -> dict[str, Reasoned]:
    """Return every option below an entry that the hand may not change."""
    found: dict[str, Reasoned] = {}
    if isinstance(value, Value):
        value = vars(value)
    if isinstance(value, tuple):
        value = dict(enumerate(value))
    if isinstance(value, dict):
        for name, below in value.items():
            if isinstance(below, Reasoned):
                found |= {name: below} if below.fixed else {}
            else:
                found |= _fixed(below)
    return found


@pytest.mark.parametrize(("model", "names"), FACTS["fixed"].items())
def test_what_a_model_cannot_do_without_is_fixed(shipped: Catalog, model: str, names: list[str]) -> None:
    fixed = _fixed(shipped.models[model].facts)
    assert sorted(fixed) == names
    for reasoned in fixed.values():
        keys = set(reasoned.value) if isinstance(reasoned.value, dict) else set()
        assert keys.issuperset(reasoned.fixed_keys)


@pytest.mark.parametrize("model", ["kimi-k3", "qwen38"])
def test_a_large_model_has_longer_to_load_on_every_accelerator(shipped: Catalog, model: str) -> None:
    assert shipped.models[model].facts.env["VLLM_ENGINE_READY_TIMEOUT_S"].value == "3600"


def test_seven_tokens_pay_as_far_as_somebody_has_them_on(shipped: Catalog) -> None:
    assert shipped.models["kimi-k3"].facts.drafts["dspark"].pays_up_to == 8


def test_speeds_of_two_layouts_are_not_told_as_one(shipped: Catalog) -> None:
    assert (
        "111 to 331 tok/s with TP8, 118 to 370 with TP16"
        in shipped.models["kimi-k3"].facts.drafts["dspark"].why
    )


@pytest.mark.parametrize(
    ("model", "accepted"),
    [("kimi-k3", ("float32", "bfloat16")), ("qwen38", ("float32", "bfloat16", "float16"))],
)
def test_types_of_the_state_are_those_that_the_engine_accepts(
    shipped: Catalog, model: str, accepted: tuple[str, ...]
) -> None:
    recurrent = shipped.models[model].facts.shape.recurrent
    assert recurrent is not None
    assert recurrent.state_choices == accepted


def test_a_rounded_size_is_the_one_of_its_source(shipped: Catalog) -> None:
    assert shipped.models["qwen38"].facts.checkpoints["quark-mxfp4"].about_bytes == 1278 * 2**30


@pytest.mark.parametrize("case", FACTS["options"], ids=lambda case: f"{case[0]} {case[2]} {case[4]}")
def test_layouts_carry_the_options_of_the_recipes(shipped: Catalog, case: list[Any]) -> None:
    model, accelerator, title, part, option, value = case
    (layout,) = layouts(shipped.models[model].facts, accelerator, title)
    assert getattr(layout, part)[option].value == value


def test_the_renamed_variable_of_the_amd_profile_follows_the_release(shipped: Catalog) -> None:
    before, since = (each for each in shipped.models["kimi-k3"].facts.profiles if each.family == "cdna4")
    assert (before.before, since.since) == ("0.33.0", "0.33.0")
    assert before.env["VLLM_ROCM_USE_AITER_MOE_SITUV2_A8W4"].value == "1"
    assert since.env["VLLM_ROCM_USE_AITER_MOE_SITUV2"].value == "a8w4"
    assert not before.env.keys() & {"VLLM_ROCM_USE_AITER_MOE_SITUV2"}
    assert not since.env.keys() & {"VLLM_ROCM_USE_AITER_MOE_SITUV2_A8W4"}


def test_the_draft_is_the_articles_and_another_kernel_verifies_it_on_amd(shipped: Catalog) -> None:
    draft = shipped.models["kimi-k3"].facts.drafts["dspark"]
    assert draft.settings == {
        "attention_backend": "FLASHINFER_MLA",
        "draft_sample_method": "probabilistic",
        "rejection_sample_method": "block",
    }
    assert draft.on_family == {"cdna4": {"attention_backend": "TRITON_MLA"}}


def test_a_draft_on_amd_gets_the_share_that_amd_documents(shipped: Catalog) -> None:
    assert shipped.models["kimi-k3"].facts.drafts["dspark"].share["cdna4"].value == 0.88


@pytest.mark.parametrize("case", FACTS["ran"], ids=lambda case: " ".join(case[:3]))
def test_what_is_only_written_down_is_no_run(shipped: Catalog, case: list[Any]) -> None:
    model, accelerator, title, parties = case
    (layout,) = layouts(shipped.models[model].facts, accelerator, title)
    assert [each.who for each in layout.evidence if each.ran] == parties


def test_levels_of_effort_that_nobody_documents_are_unknown(shipped: Catalog) -> None:
    assert shipped.models["kimi-k3"].facts.endpoint.efforts == "unknown"


def test_one_token_of_mtp_is_not_served(shipped: Catalog) -> None:
    drafts = shipped.models["qwen38"].facts.drafts
    assert drafts["mtp-3"].refused is None
    assert drafts["mtp-1"].refused


@pytest.mark.parametrize("accelerator", ["h100", "h200", "a100", "b200"])
def test_qwen_is_refused_where_the_article_leaves_it_out(shipped: Catalog, accelerator: str) -> None:
    facts = shipped.models["qwen38"].facts
    assert facts.refused[accelerator].source == "article"
    assert not [each for each in facts.layouts if accelerator in each.accelerators]


@pytest.mark.parametrize("model", ["kimi-k3", "qwen38"])
def test_no_figure_is_published_without_its_conditions(shipped: Catalog, model: str) -> None:
    facts = shipped.models[model].facts
    published = [each for layout in facts.layouts for party in layout.evidence for each in party.published]
    assert published
    assert all(each.conditions for each in published)


@pytest.mark.parametrize("model", ["kimi-k3", "qwen38"])
def test_every_source_is_read(shipped: Catalog, model: str) -> None:
    """A source that nothing names is left over from something that was taken out."""
    text = (STACKS / "catalog" / "models" / f"{model}.yaml").read_text()
    used = set(_sources(yaml.safe_load(text)))
    assert used == set(shipped.models[model].facts.sources)


def _sources(value: Any) -> list[str]:
    if isinstance(value, list):
        return [source for below in value for source in _sources(below)]
    if not isinstance(value, dict):
        return []
    own = [value["source"]] if isinstance(value.get("source"), str) else []
    return own + [source for below in value.values() for source in _sources(below)]


@pytest.mark.parametrize("stack", FACTS["stacks"])
def test_a_stack_file_is_short_and_says_what_it_is(stack: str) -> None:
    lines = (STACKS / f"Pulumi.{stack}.yaml").read_text().splitlines()
    assert 10 <= len(lines) <= 25
    assert lines[0] == "# yaml-language-server: $schema=fleet.schema.json"
    assert 1 <= sum(line.startswith("#") for line in lines[1:]) <= 2


@pytest.mark.parametrize(("stack", "expected"), FACTS["stacks"].items())
def test_a_stack_is_a_documented_layout(shipped: Catalog, stack: str, expected: list[Any]) -> None:
    checkpoint, accelerator, gpus, title = expected
    config = fleet(stack)
    facts = shipped.models[config.model].facts
    assert config.machines.provider == "baremetal"
    assert shipped.machines[config.machines.type].accelerator == accelerator
    assert config.engine in shipped.engines
    assert config.checkpoint in {None, checkpoint}
    (layout,) = (each for each in layouts(facts, accelerator, title) if checkpoint in each.checkpoints)
    assert config.fabric in layout.fabrics
    assert config.layout in {None, layout.layout}
    assert layout.layout.gpus == gpus
    assert layout.evidence


def test_only_what_needs_a_router_cannot_start_yet(shipped: Catalog) -> None:
    waiting = {
        f"{name} {layout.title}"
        for name, model in shipped.models.items()
        for layout in model.facts.layouts
        if layout.needs
    }
    assert waiting == {
        "kimi-k3 DEP16",
        "kimi-k3 PD, TP16 each",
        "kimi-k3 PD, prefill TEP8 and decode DEP16",
        "qwen38 DEP16",
    }
