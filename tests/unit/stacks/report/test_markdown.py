"""The report holds what a person decides by, in that order, and reads well in a terminal."""

import re
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from stacks.planning import FleetPlan, commands
from stacks.planning.plan import DraftPin
from stacks.planning.reach import PlannedKey
from stacks.report import markdown
from stacks.report.shell import options
from tests.unit.stacks.report.conftest import MADE_UP
from tools.report import planned

SECTIONS = [
    "Know before `up`",
    "Machines (baremetal)",
    "Checkpoint",
    "What each GPU holds",
    "Requests at once",
    "Choices",
    "Pins",
    "Time and cost",
    "Access",
    "Ports (TCP)",
    "Commands (host names stand for addresses)",
    "Why each option",
    "Evidence",
    "Endpoint",
    "Sources",
]


@pytest.fixture(scope="module")
def report() -> str:
    return markdown(MADE_UP["two trays"])


def test_a_small_fleet_takes_few_screens() -> None:
    assert len(markdown(planned("lab")).splitlines()) <= 185


def test_sections_come_in_the_order_of_decisions(report: str) -> None:
    assert re.findall(r"^## (.*)$", report, re.MULTILINE) == SECTIONS


def test_prose_fits_a_terminal(shipped: FleetPlan) -> None:
    prose, code = [], False
    for line in markdown(shipped).splitlines():
        code ^= line.startswith("```")
        if not (code or line.startswith(("    ", "Rank "))):
            prose.append(line)
    # A path or an address stays whole, however long it is.
    assert [line for line in prose if len(line) > 100 and len(line.split()) > 2] == []


def test_commands_paste_into_a_shell_as_they_run(shipped: FleetPlan) -> None:
    expected = commands(shipped, {host.name: host.name for host in shipped.hosts})
    assert read(markdown(shipped)) == {
        (one.group, one.rank, one.host): ({"env": dict(one.env)}, list(one.argv)) for one in expected
    }


Read = dict[tuple[str, int, str], tuple[dict[str, dict[str, str]], list[str]]]


def read(report: str) -> Read:
    """Return the commands of a report: pasted, or those of another rank with the words that differ."""
    found: Read = {}
    paragraphs = "\n".join(paragraph.replace("\n", " ") for paragraph in report.split("\n\n"))
    for rank, group, host, rest in re.findall(
        r"^Rank (\d+) of (\w+) on ([\w-]+): ?(.*)$", paragraphs, re.MULTILINE
    ):
        at = (group, int(rank), host)
        if not rest:
            _, _, after = report.partition(f"Rank {rank} of {group} on {host}:\n\n")
            block, _, _ = after.partition("\n\n")
            found[at] = parsed(words(block))
            continue
        like = re.match(r"as rank (\d+) of (\w+), but with (.*)", rest)
        assert like
        env, argv = next(value for key, value in found.items() if key[:2] == (like[2], int(like[1])))
        own = [shlex.split(each) for each in re.findall(r"`([^`]*)`", like[3])]
        found[at] = changed(env["env"], argv, own)
    return found


def words(block: str) -> list[str]:
    shell = subprocess.run(
        ["sh", "-c", f"printf '%s\\n' {block}"], capture_output=True, text=True, check=True
    )
    return shell.stdout.splitlines()


def parsed(pasted: Sequence[str]) -> tuple[dict[str, dict[str, str]], list[str]]:
    assert pasted[0] == "env"
    start = next(i for i, word in enumerate(pasted) if word.startswith("/"))
    return {"env": dict(word.split("=", 1) for word in pasted[1:start])}, list(pasted[start:])


def changed(
    env: Mapping[str, str], argv: Sequence[str], own: Sequence[Sequence[str]]
) -> tuple[dict[str, dict[str, str]], list[str]]:
    new = {each[0]: each for each in own if each[0].startswith("--")}
    variables = dict(each[0].split("=", 1) for each in own if not each[0].startswith("--"))
    return {"env": {**env, **variables}}, [
        word for group in options(tuple(argv)) for word in new.get(group[0], group)
    ]


def test_every_option_has_its_reason(shipped: FleetPlan) -> None:
    report = " ".join(markdown(shipped).split())
    asked = [option for group in shipped.groups for option in (*group.options, *group.env)]
    assert [option.name for option in asked if f": {' '.join(option.why.split())} [" not in report] == []


@pytest.mark.parametrize(
    "fact",
    [
        "# made-up: someone/Some-Model on 2 trays (8 \N{MULTIPLICATION SIGN} GPU4)",
        "**documented on other versions; not startable yet: 1 pin missing**; nothing here was run by us on",
        "- **not startable yet**: no machine is listed",
        "- not pinned: revision of the draft, because nobody has written it down",
        "- this plan is made up",
        "| tray-1 | 0      | 4 \N{MULTIPLICATION SIGN} GPU4 | serve  | 1    | TP 4\N{EN DASH}7",
        "revision 9f62e4e9fffbd0a83ddd60e1c209d828994b3569",
        "Tray of four (tray-4): 4 \N{MULTIPLICATION SIGN} GPU4 (sm_4), aarch64 host; NVLink joins up to 72",
        "- files: 1,560.9 GB (1,560,936,091,448 bytes), shards: 96; tensors: 1,560.9 GB (1,560,860,324,864",
        "- model: Some Model; exact parameters: 2,779,931,837,184; layers: 93",
        "; experts: 896 routed, 16 of them for each token, 2 shared",
        "| together, the engine's share | 254.81 GiB",
        "| memory of the GPU            | 268.22 GiB",
        "at most 32 requests in flight",
        "| weights            | 181.71\N{EN DASH}182.54 GiB |",
        "| NCCL               | up to 3.73 GiB    |",
        "- NCCL: buffers [assumption]",
        "| 32,768                     | 28     | 0.55 GiB | 101\N{EN DASH}131     |",
        "up to 306",
        "- pool: 2,825\N{EN DASH}3,673 blocks of 21,233,664 bytes",
        "- the reserve of the CUDA graphs is not exact",
        "- **layout: TP8**: it needs the fewest machines [made up]",
        "  - set by hand, against the planner: 4 GPUs more than the planner's own",
        "  - not TP16: twice the machines",
        "engine engine-1.2.3: release 1.2.3 for cu130, stacks/catalog/locks/engine-1.2.3.lock",
        "oldest driver that it runs with: 580; NCCL: 2.28.9",
        "- IMEX: unknown",
        "disk of each tray: 1,572.9 GB for engine and checkpoint",
        "- reading the weights: 98 s to 195 s; each machine reads 8 GB/s",
        "- an hour of 8 GPUs: 52.00 USD; offer 1, 2026-11-30",
        "- loading and one evaluation: unknown; how long one takes is not given",
        "first completion 60 min",
        "8000 on tray-0",
        "29501 on tray-0",
        "- `--max-model-len 32768`: max-model-len is asked for [made up]",
        "  - 111 tok/s, published for: batch 1; never a promise",
        "(not recorded: driver, NCCL, fabric, revision): it answers [made up]",
        "reasoning effort: high, low (the",
        "- gateway on tray-0, port 8443, TLS of the stack's own CA, reached through SSH only",
        "- the way there: `ssh -N -L 8443:127.0.0.1:8443 tray-0`",
        "- SSH to the machines: 10.0.0.1/32; /metrics: nobody",
        "- keys: default (generated); good for POST /v1/chat/completions; GET /health",
        "- limits: 64 MiB a request; 10 min of silence; 20 min a connection, or an answer in a reload",
        "8443 on tray-0: the gateway",
        'client = OpenAI(base_url="https://localhost:8443/v1", timeout=3600)',
    ],
)
def test_it_holds(report: str, fact: str) -> None:
    assert " ".join(fact.split()) in " ".join(report.split())


def changed_plan(**parts: Mapping[str, Any] | None) -> str:
    """Return the report of two trays, on one line, with fields of the plan's parts changed or set to None."""
    plan = MADE_UP["two trays"]
    update = {
        name: fields if fields is None else getattr(plan, name).model_copy(update=fields)
        for name, fields in parts.items()
    }
    return " ".join(markdown(plan.model_copy(update=update)).split())


def test_what_is_unknown_stays_unknown() -> None:
    sizes = {"file_bytes": None, "tensor_bytes": None, "shards": None}
    nothing = changed_plan(checkpoint=sizes, disk_mib=None, model={"parameters": None, "experts": None})
    assert "- files: unknown, shards: unknown; tensors: unknown - " in nothing
    assert "- model: Some Model; exact parameters: unknown; layers: 93 - " in nothing
    assert "disk of each tray: unknown, because nobody says how large the checkpoint is" in nothing
    assert "beside checkpoint unknown and access 60 s, serve 120 s, first completion unknown" in nothing


def test_a_rounded_size_is_no_exact_one() -> None:
    sizes = {"file_bytes": None, "tensor_bytes": None, "about_bytes": 1_372_242_051_072}
    rounded = changed_plan(checkpoint=sizes)
    assert "tensors: unknown; about 1,372.2 GB as its source rounds it" in rounded
    assert "1,372,242,051,072" not in rounded
    tensors = changed_plan(checkpoint={"file_bytes": None})
    assert "- files: unknown, shards: 96; tensors: 1,560.9 GB (1,560,860,324,864 bytes) - " in tensors


def test_a_draft_of_unknown_size_is_named_wherever_it_would_count() -> None:
    plan = MADE_UP["two trays"]
    draft = DraftPin(name="some-draft", repository="someone/Draft", revision=None, tensor_bytes=None)
    left_out = {"draft": draft, "not_counted": "draft not counted: its size is unknown"}
    report = " ".join(markdown(plan.model_copy(update=left_out)).split())
    assert "GB for engine and checkpoint; draft not counted: its size is unknown" in report
    assert "first completion 60 min; draft not counted: its size is unknown" in report
    known = draft.model_copy(update={"tensor_bytes": 2 * 10**9})
    counted = " ".join(markdown(plan.model_copy(update={"draft": known})).split())
    assert "draft not counted" not in counted
    assert "GB for engine, checkpoint and draft" in counted


def test_pins_that_nobody_has_are_said_to_be_missing() -> None:
    image = changed_plan(engine={"image_unpinned": "only moving tags are documented"})
    assert (
        "image: not pinned, because only moving tags are documented; not needed: the lock is installed"
        in image
    )
    neither = {"image_unpinned": "nobody asked", "lock": None, "driver_floor": None, "nccl": None}
    bare = changed_plan(engine={**neither, "variant": "rocm"})
    assert (
        "- image: not pinned, because nobody asked - oldest driver that it runs with: unknown; RCCL: unknown"
        in bare
    )


def test_who_reaches_the_fleet_is_told_and_no_secret() -> None:
    keys = (
        PlannedKey(name="evaluation", secret="pasted", serial=1),  # noqa: S106 - the name of one
        PlannedKey(name="chat", secret=None, serial=2),
    )
    sources = {
        "sources": ("operator", "10.0.0.0/8"),
        "metrics": ("10.0.0.9/32",),
        "tls": "given",
        "keys": keys,
    }
    told = changed_plan(access=sources)
    assert "TLS with the given certificate, reached from the machine that runs `up`, 10.0.0.0/8" in told
    assert "/metrics: 10.0.0.9/32" in told
    assert "- keys: evaluation (a Pulumi secret), chat (generated); good for" in told
    assert "ssh -N -L" not in told
    assert "pasted" not in told
    assert "no TLS" in changed_plan(access={"tls": "off"})


def test_what_has_no_price_costs_an_unknown_amount() -> None:
    report = changed_plan(cost={"per_hour": None, "source": "no price is given"})
    assert "- an hour of 8 GPUs: unknown, because no price is given - deadlines" in report


@pytest.mark.parametrize(
    ("levels", "said"),
    [
        ("unknown", "reasoning effort: unknown;"),
        ((), "reasoning effort: no such setting;"),
        (("high", "low"), "reasoning effort: high, low (the first is the default);"),
    ],
)
def test_levels_of_effort_are_told_as_far_as_they_are_known(levels: Any, said: str) -> None:
    assert said in changed_plan(endpoint={"efforts": levels})


def test_what_is_only_written_down_is_no_run() -> None:
    standing = MADE_UP["two trays"].standing
    [ran] = standing.evidence
    only = changed_plan(standing={"evidence": (ran.model_copy(update={"ran": False}),)})
    assert "it answers; nobody says that it ran [made up]" in only
    assert "nobody says that it ran" not in changed_plan()


def test_pools_of_data_parallel_ranks_and_both_engines_are_told() -> None:
    apart = markdown(MADE_UP["six trays apart"])
    assert "in each of 16" in apart
    assert "5600 and up on prefill: prefill hands its cache to decode" in apart
    assert "29550 on tray-2: the data parallel ranks meet" in apart
    assert "decode alone:" in apart
    assert "address: that of a router in front of the machines that serve the API" in " ".join(apart.split())
    assert "client = OpenAI(timeout=3600)" in apart


def test_sources_have_one_number_each() -> None:
    report = markdown(planned("kimi-k3-gb300"))
    listed = re.findall(r"^(\d+)\. (.*)$", report.split("## Sources\n")[1], re.MULTILINE)
    assert [int(number) for number, _ in listed] == list(range(1, len(listed) + 1))
    assert len({source for _, source in listed}) == len(listed)
    assert {number for number, _ in listed} <= set(re.findall(r"\[(\d+)\]", report))
