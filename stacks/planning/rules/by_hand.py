"""What a person may not set by hand: what the plan decides, secrets, and what contradicts itself."""

import re
from collections.abc import Iterator, Mapping

from stacks.config import Setting
from stacks.planning.design import Design
from stacks.planning.rules.effective import spelled
from stacks.planning.rules.rule import Finding, Rule, Sized

_SPLIT = "write layout: instead"
_PLACES = "leave it out: every rank gets its own from the plan"
_INSTEAD: Mapping[str, str] = {
    "model": "write model: and checkpoint: instead",
    "served-model-name": "leave it out: the name is the model's own",
    "revision": "write checkpoint: instead; revisions are pinned in the catalog",
    "tensor-parallel-size": _SPLIT,
    "pipeline-parallel-size": _SPLIT,
    "data-parallel-size": _SPLIT,
    "decode-context-parallel-size": _SPLIT,
    "enable-expert-parallel": _SPLIT,
    "max-model-len": "write workload.context: instead",
    "speculative-config": "write speculation: instead",
    "api-key": "write api_key: with the name of a Pulumi secret instead",
    "tool-call-parser": "leave it out: it is the model's own",
    "reasoning-parser": "leave it out: it is the model's own",
}
_OF_A_RANK: tuple[str, ...] = (
    "data-parallel-address",
    "data-parallel-rank",
    "data-parallel-rpc-port",
    "data-parallel-size-local",
    "data-parallel-start-rank",
    "headless",
    "host",
    "master-addr",
    "master-port",
    "nnodes",
    "node-rank",
    "port",
    "uds",
    "CUDA_VISIBLE_DEVICES",
    "GLOO_SOCKET_IFNAME",
    "HIP_VISIBLE_DEVICES",
    "HOME",
    "PATH",
    "ROCR_VISIBLE_DEVICES",
    "VLLM_CPU_OMP_THREADS_BIND",
    "VLLM_DP_MASTER_IP",
    "VLLM_DP_MASTER_PORT",
    "VLLM_HOST_IP",
    "VLLM_NIXL_SIDE_CHANNEL_HOST",
    "VLLM_NIXL_SIDE_CHANNEL_PORT",
    "VLLM_PORT",
)
DECIDED = frozenset((*_INSTEAD, *_OF_A_RANK))
"""Options and variables that the plan writes for each rank."""

_SECRET_NAME = re.compile(r"(^|_)(KEYS?|TOKEN|CREDENTIALS?)$|SECRET|PASSWORD|PASSWD|ACCESS_KEY")
_SECRET_VALUE = re.compile(r"^(sk-|hf_|ghp_|github_pat_|AKIA|xox[bp]-)[A-Za-z0-9_-]{8,}|-----BEGIN ")
_DEVELOPER = "VLLM_SERVER_DEV_MODE"

_MAPPINGS = ("-config", "-overrides")
_NEED_PREFIXES = ("prefix-match-unit", "prefix-cache-retention-interval")


def _plan_decides(design: Design, _: Sized) -> Iterator[Finding]:
    for at, name, value in _settings(design):
        plain = name.removeprefix("no-")
        if plain in DECIDED:
            shown = "the value there (not shown)" if plain == "api-key" else spelled(value)
            yield Finding(at, shown, "is decided by the plan", _INSTEAD.get(plain, _PLACES))


def _settings(design: Design) -> Iterator[tuple[str, str, Setting]]:
    """Yield where, name and value of everything set by hand."""
    yield from ((f"flags.{name}", name, value) for name, value in design.config.flags.items())
    yield from ((f"env.{name}", name, value) for name, value in design.config.env.items())


def _positive_names(design: Design, _: Sized) -> Iterator[Finding]:
    for name, value in design.config.flags.items():
        plain = name.removeprefix("no-")
        if name != plain and plain not in DECIDED:
            yield Finding(f"flags.{name}", spelled(value), "is the negative form", f"write {plain}: false")


def _mappings(design: Design, _: Sized) -> Iterator[Finding]:
    for name, value in design.config.flags.items():
        if name.endswith(_MAPPINGS) and name not in DECIDED and not isinstance(value, dict):
            yield Finding(
                f"flags.{name}",
                spelled(value),
                "is no mapping, and the engine reads this option as JSON",
                "write keys and values, for example {pass_config: {fuse_allreduce_rms: false}}",
            )


def _no_secrets(design: Design, _: Sized) -> Iterator[Finding]:
    for at, name, value in _settings(design):
        named = at.startswith("env.") and _SECRET_NAME.search(name)
        if named or (isinstance(value, str) and _SECRET_VALUE.search(value)):
            yield Finding(
                at,
                "the value there (not shown)",
                "may be a secret, and this file is committed and its values stand in commands and units",
                "take it out, and where it was real, change it; the API key is api_key: with the name of "
                "a Pulumi secret",
            )


def _no_contradictions(design: Design, _: Sized) -> Iterator[Finding]:
    flags = design.config.flags
    if flags.get("enable-prefix-caching") is False:
        for name in _NEED_PREFIXES:
            if name in flags:
                yield Finding(
                    f"flags.{name}",
                    spelled(flags[name]),
                    "works on cached prefixes, which enable-prefix-caching: false turns off",
                    "drop one of the two",
                )
    if flags.get("enforce-eager") is True:
        for name in ("compilation-config", "max-cudagraph-capture-size"):
            if name in flags:
                yield Finding(
                    f"flags.{name}",
                    spelled(flags[name]),
                    "is about CUDA graphs, which enforce-eager: true turns off",
                    "drop one of the two",
                )
    if flags.get("language-model-only") is True and "mm-encoder-tp-mode" in flags:
        yield Finding(
            "flags.mm-encoder-tp-mode",
            flags["mm-encoder-tp-mode"],
            "is about the vision encoder, which language-model-only: true leaves out",
            "drop one of the two",
        )


def _no_developer_endpoints(design: Design, _: Sized) -> Iterator[Finding]:
    if design.config.env.get(_DEVELOPER, "0") != "0":
        yield Finding(
            f"env.{_DEVELOPER}",
            design.config.env[_DEVELOPER],
            "opens endpoints that need no key and can empty caches and stop the engine",
            "drop it",
        )


RULES = (
    Rule(
        "plan-decides",
        "options and variables that the plan sets for every rank are not set by hand",
        "stacks/planning/membership.py",
        _plan_decides,
    ),
    Rule(
        "positive-names",
        "an option is written by its positive name; false is its --no- form",
        "stacks/config/fleet.py",
        _positive_names,
    ),
    Rule(
        "mappings-are-mappings",
        "options that the engine reads as JSON are written as mappings",
        "vLLM 0.33.0, vllm/engine/arg_utils.py",
        _mappings,
    ),
    Rule("no-secrets", "no secret stands in a stack file", "stacks/config/fleet.py (api_key)", _no_secrets),
    Rule(
        "no-contradictions",
        "options set by hand do not switch each other off",
        "vLLM 0.33.0, vllm/engine/arg_utils.py",
        _no_contradictions,
    ),
    Rule(
        "no-developer-endpoints",
        "the engine's developer endpoints stay off",
        "https://docs.vllm.ai/en/stable/usage/security/",
        _no_developer_endpoints,
    ),
)
