"""What a person may not set by hand: what the plan decides, secrets, and what contradicts itself."""

from collections.abc import Callable, Iterator, Mapping

from stacks.config import Setting
from stacks.planning import secret
from stacks.planning.design import Design
from stacks.planning.membership import OWN
from stacks.planning.naming import spelled
from stacks.planning.rules.rule import Finding, Rule
from stacks.planning.sized import Sized

_SPLIT = "write layout: instead"
_PLACES = "leave it out: every rank gets its own from the plan"
_ENTERED = "write access: instead: clients reach the gateway, and it alone reaches the engine"
_SEEN = "leave it out: every rank gets that of its own host, as the gates see it there"
_OF_THE_HOST: Mapping[str, str] = {
    "GLOO_SOCKET_IFNAME": _SEEN,
    "NCCL_SOCKET_IFNAME": _SEEN,
    "NCCL_IB_HCA": "leave it out; over RDMA, nics: of each of machines.hosts says what its rank gets",
    "UCX_NET_DEVICES": _SEEN,
}
"""Set by hand only on machines of a person's own that no gate looks at: nobody else would tell them there."""
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
    "spec-method": "write speculation: instead",
    "spec-model": "write speculation: instead",
    "spec-tokens": "write speculation: instead",
    "disable-expert-parallel": _SPLIT,
    "api-key": "write access.keys: instead, with the names of Pulumi secrets",
    "host": _ENTERED,
    "port": _ENTERED,
    "root-path": _ENTERED,
    "uds": _ENTERED,
    "ssl-ca-certs": _ENTERED,
    "ssl-cert-reqs": _ENTERED,
    "ssl-certfile": _ENTERED,
    "ssl-ciphers": _ENTERED,
    "ssl-keyfile": _ENTERED,
    "enable-ssl-refresh": _ENTERED,
    "disable-ssl-refresh": _ENTERED,
    "tool-call-parser": "leave it out: it is the model's own",
    "reasoning-parser": "leave it out: it is the model's own",
    **_OF_THE_HOST,
    "config": "write the options under flags: instead",
    "help": "leave it out: the engine would print and stop",
    "version": "leave it out: the engine would print and stop",
}
_PAST_THE_PLAN = frozenset(
    {
        "data-parallel-rank",
        "CUDA_VISIBLE_DEVICES",
        "HIP_VISIBLE_DEVICES",
        "HOME",
        "PATH",
        "ROCR_VISIBLE_DEVICES",
        "VLLM_DP_MASTER_IP",
        "VLLM_DP_MASTER_PORT",
    }
)
"""What no rank is given, and what would put it elsewhere than the plan says."""
DECIDED = OWN | _PAST_THE_PLAN | frozenset(_INSTEAD)
"""Options and variables that nobody sets by hand."""

_DEVELOPER = "VLLM_SERVER_DEV_MODE"
_OUTLIVES = "VLLM_KEEP_ALIVE_ON_ENGINE_DEATH"

_OFFLINE = "HF_HUB_OFFLINE"
_YES = ("1", "ON", "YES", "TRUE")
"""What the hub's client takes for a yes (huggingface_hub/constants.py)."""

_OTHER_NAMES: Mapping[str, str] = {"device-memory-utilization": "gpu-memory-utilization"}
"""Second names of options that the plan reckons with; those of switches are known by their prefix."""
_PAIRS: Mapping[str, str] = {"enable-": "disable-", "disable-": "enable-"}
_MAPPINGS = ("-config", "-overrides")
_TEXTS = DECIDED | {"generation-config"}
"""Named like one, but none: a path or a word, or what another rule refuses."""
_NEED_PREFIXES = ("prefix-match-unit", "prefix-cache-retention-interval")


def way_out(name: str) -> str:
    """Return what to write instead of an option or a variable that the plan decides."""
    return _INSTEAD.get(name, _PLACES)


def _plan_decides(design: Design, _: Sized) -> Iterator[Finding]:
    for at, name, value in _settings(design):
        plain = name.removeprefix("no-")
        if plain in DECIDED and (plain not in _OF_THE_HOST or design.gated or design.lab):
            yield Finding(at, spelled(value), "is decided by the plan", way_out(plain))


def _settings(design: Design) -> Iterator[tuple[str, str, Setting]]:
    """Yield where, name and value of everything set by hand."""
    yield from ((f"flags.{name}", name, value) for name, value in design.config.flags.items())
    yield from ((f"env.{name}", name, value) for name, value in design.config.env.items())


def _positive_names(design: Design, _: Sized) -> Iterator[Finding]:
    for name, value in design.config.flags.items():
        plain = name.removeprefix("no-")
        if name != plain and plain not in DECIDED:
            yield Finding(f"flags.{name}", spelled(value), "is the negative form", _positive(design, plain))
        elif name not in DECIDED and (meant := first_name(design, name, value)):
            yield Finding(
                f"flags.{name}",
                spelled(value),
                "is a second name of an option that the plan knows by its first",
                f"write {meant}",
            )


def _positive(design: Design, plain: str) -> str:
    """Return what to write for the negative form of a name, which may be no switch, or a second name."""
    known = design.engine.options
    if meant := first_name(design, plain, value=False):
        return f"write {meant}"
    return f"write {plain}: false" if not known or f"no-{plain}" in known else "leave it out"


def first_name(design: Design, name: str, value: Setting) -> str | None:
    """Return what to write for the second name of an option; None for a first name.

    Of `--enable-x` and `--disable-x`, where the engine knows both, the first is the one that has a `--no-`.
    """
    if name in _OTHER_NAMES:
        return _OTHER_NAMES[name]
    known = design.engine.options
    for prefix, other in _PAIRS.items():
        first = name.replace(prefix, other, 1) if name.startswith(prefix) else name
        if first != name and {name, f"no-{first}"} <= known and f"no-{name}" not in known:
            return f"{first}: {spelled(value is False)}"
    return None


def _mappings(design: Design, _: Sized) -> Iterator[Finding]:
    for name, value in design.config.flags.items():
        if name.endswith(_MAPPINGS) and name not in _TEXTS and not isinstance(value, dict):
            yield Finding(
                f"flags.{name}",
                spelled(value),
                "is no mapping, and the engine reads this option as JSON",
                "write keys and values, for example {pass_config: {fuse_allreduce_rms: false}}",
            )


def _no_secrets(design: Design, _: Sized) -> Iterator[Finding]:
    for at, name, value in _settings(design):
        if name.removeprefix("no-") != "api-key" and secret.may_be_secret(name, value):
            yield Finding(
                at,
                secret.HIDDEN,
                "may be a secret, and this file is committed and its values stand in commands and units",
                "take it out, and where it was real, change it; API keys are access.keys: with the names of "
                "Pulumi secrets",
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
        for name in ("compilation-config", "cudagraph-capture-sizes", "max-cudagraph-capture-size"):
            if name in flags and _wants_graphs(flags[name]):
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


def _wants_graphs(value: Setting) -> bool:
    """Return whether a value is about CUDA graphs: of compilation-config only some keys are."""
    if not isinstance(value, dict):
        return True
    return any("cudagraph" in key and each != "NONE" for key, each in value.items())


def _items_are_no_options(design: Design, _: Sized) -> Iterator[Finding]:
    for name, value in design.config.flags.items():
        if isinstance(value, list) and any(isinstance(each, str) and each.startswith("-") for each in value):
            yield Finding(
                f"flags.{name}",
                spelled(value),
                "is a list with an item that the engine would take for an option of its own",
                "write every option as a key of its own under flags:",
            )


def _stays_off(name: str, otherwise: str) -> Callable[[Design, Sized], Iterator[Finding]]:
    """Return a check that a switch of the engine's is not set by hand."""

    def check(design: Design, _: Sized) -> Iterator[Finding]:
        if design.config.env.get(name, "0") != "0":
            yield Finding(f"env.{name}", design.config.env[name], otherwise, "drop it")

    return check


def _asks_no_hub(design: Design, _: Sized) -> Iterator[Finding]:
    by_hand = design.config.env.get(_OFFLINE)
    if by_hand is not None and by_hand.upper() not in _YES:
        yield Finding(
            f"env.{_OFFLINE}",
            by_hand,
            "lets the engine ask a hub, and the checkpoint is local and verified",
            "leave it out",
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
        "an option is written by its first and positive name; false is its --no- form",
        "stacks/config/fleet.py",
        _positive_names,
    ),
    Rule(
        "mappings-are-mappings",
        "options that the engine reads as JSON are written as mappings",
        "vLLM 0.33.0, vllm/engine/arg_utils.py",
        _mappings,
    ),
    Rule("no-secrets", "no secret stands in a stack file", "stacks/config/access.py", _no_secrets),
    Rule(
        "no-contradictions",
        "options set by hand do not switch each other off",
        "vLLM 0.33.0, vllm/engine/arg_utils.py",
        _no_contradictions,
    ),
    Rule(
        "items-are-no-options",
        "no item of a list begins with a dash, by which the engine knows an option",
        "Python's argparse, arguments that begin with a dash",
        _items_are_no_options,
    ),
    Rule(
        "no-developer-endpoints",
        "the engine's developer endpoints stay off",
        "https://docs.vllm.ai/en/stable/usage/security/",
        _stays_off(_DEVELOPER, "opens endpoints that need no key and can empty caches and stop the engine"),
    ),
    Rule(
        "dies-with-its-engine",
        "the API server ends when its engine dies",
        "vLLM 0.33.0, vllm/envs.py",
        _stays_off(
            _OUTLIVES,
            "lets the API server outlive its dead engine, so that a fleet that answers nothing looks alive",
        ),
    ),
    Rule(
        "asks-no-hub",
        "the engine reads the verified copies on the host and asks no hub",
        "env of stacks/catalog/engines",
        _asks_no_hub,
    ),
)
