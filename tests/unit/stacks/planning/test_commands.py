"""The command and environment of every rank."""

import json
import shlex
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stacks.config import Parallelism
from stacks.planning import FleetPlan, RankCommand, commands, membership_reasons
from stacks.planning.plan import EngineGroup
from stacks.planning.reasons import Option
from tests.factories import plans, stacks
from tests.unit.stacks.cases import cases

NASTY = st.lists(
    st.sampled_from(
        ["$HEAD_ADDR", "`id`", '"', "'", "\\", " ", "\n", ";", "--", "-", "#", "%n", "{", "}", "="]
    )
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
    max_size=5,
).map("".join)
SETTINGS = NASTY | st.dictionaries(NASTY, NASTY | st.integers() | st.booleans(), min_size=1)


@pytest.mark.parametrize("case", cases("planning/commands.yaml"))
def test_command_and_environment_of_every_lab_rank(case: dict[str, Any]) -> None:
    hosts = case["hosts"]
    planned = stacks.planned("lab", {"machines.count": hosts, "layout.tensor_parallel": hosts})
    stand_ins = {"LOCK": planned.engine.lock_digest[:12], "REVISION": planned.checkpoint.revision or ""}
    found = [
        {"group": each.group, "host": each.host, "argv": list(each.argv), "env": each.env}
        for each in commands(planned, addresses(planned))
    ]
    assert found == [
        rank | {"argv": [_filled(word, stand_ins) for word in rank["argv"]]} for rank in case["ranks"]
    ]


@pytest.mark.parametrize("case", cases("planning/commands_members.yaml"))
def test_every_rank_knows_its_place(case: dict[str, Any]) -> None:
    engine = _engine(case["parallel"], hybrid=case.get("hybrid", False))
    found = commands(plans.fleet(plans.TRAY, plans.NVLINK, [engine]), {host: host for host in _hosts(engine)})
    assert [_place(command) for command in found] == [line.split() for line in case["ranks"]]


def test_ranks_that_serve_listen_and_the_others_do_not() -> None:
    engine = _engine({"tensor_parallel": 8})
    head, other = commands(
        plans.fleet(plans.TRAY, plans.NVLINK, [engine]), {host: host for host in _hosts(engine)}
    )
    assert head.argv[3:7] == ("--host", "127.0.0.1", "--port", "8000")
    assert "--headless" not in head.argv
    assert "--headless" in other.argv
    assert not {"--host", "--port"} & set(other.argv)


def test_an_engine_that_is_not_beside_the_gateway_listens_where_the_members_are() -> None:
    [head, _] = commands(planned := stacks.planned("lab", {"access.gateway": "host-1"}), addresses(planned))
    assert head.argv[head.argv.index("--host") + 1] == addresses(planned)["host-0"]


def test_prefill_and_decode_have_heads_and_side_channels_of_their_own() -> None:
    split = Parallelism(tensor_parallel=8)
    engines = [
        plans.engine(plans.TRAY, split, name="prefill"),
        plans.engine(plans.TRAY, split, name="decode", first=2),
    ]
    plan = plans.fleet(plans.TRAY, plans.NVLINK, engines)
    found = commands(plan, {host.name: host.name for host in plan.hosts})
    assert [(each.group, each.rank, each.host) for each in found] == [
        ("prefill", 0, "tray-0"),
        ("prefill", 1, "tray-1"),
        ("decode", 0, "tray-2"),
        ("decode", 1, "tray-3"),
    ]
    assert [each.argv[each.argv.index("--master-addr") + 1] for each in found] == [
        *("tray-0", "tray-0"),
        *("tray-2", "tray-2"),
    ]
    assert [each.env["VLLM_NIXL_SIDE_CHANNEL_HOST"] for each in found] == [each.host for each in found]


def test_an_option_that_is_asked_for_twice_is_written_once() -> None:
    engine = _engine({"tensor_parallel": 4}, asked={"tensor-parallel-size": 2})
    [command] = commands(plans.fleet(plans.TRAY, plans.NVLINK, [engine]), {"tray-0": "tray-0"})
    assert command.argv.count("--tensor-parallel-size") == 1
    assert "2" not in command.argv


@given(st.dictionaries(st.sampled_from(["alpha", "beta", "gamma"]), SETTINGS, min_size=1), NASTY)
def test_awkward_values_pass_a_shell_unharmed(asked: dict[str, Any], address: str) -> None:
    engine = _engine({"tensor_parallel": 8}, asked=asked)
    for command in commands(
        plans.fleet(plans.TRAY, plans.NVLINK, [engine]), dict.fromkeys(_hosts(engine), address)
    ):
        words = shlex.split(shlex.join(command.argv))
        assert words == list(command.argv)
        for name, value in asked.items():
            word = _word(words, name)
            assert (json.loads(str(word)) if isinstance(value, dict) else word) == value


def test_no_stack_leaves_a_placeholder_or_a_value_without_words() -> None:
    for name in stacks.NAMES:
        planned = stacks.planned(name)
        for command in commands(planned, addresses(planned)):
            for word in (*command.argv, *command.env.values()):
                assert word
                assert not {"$", "<", "\n"} & set(word), f"{name}: {word}"


@pytest.mark.parametrize("case", cases("planning/articles.yaml"))
def test_every_flag_of_an_article_is_in_our_command_and_what_we_add_has_a_reason(
    case: dict[str, Any],
) -> None:
    planned = stacks.planned(case["stack"], case.get("changes"))
    where = addresses(planned)
    command = commands(planned, where)[case.get("rank", 0)]
    assert planned.checkpoint.repository == case["model"]
    assert command.argv[1:3] == ("serve", planned.checkpoint.home)
    rendered = _options(command)
    wanted = {name: _ours(value, planned, where) for name, value in case["flags"].items()}
    assert {name: rendered.get(name) for name in wanted} == {name: _words(v) for name, v in wanted.items()}
    assert {name: command.env.get(name) for name in case.get("env", {})} == case.get("env", {})
    assert not set(case.get("without", [])) & set(rendered)
    group = planned.groups[0]
    reasons = {each.name: each for each in (*group.options, *group.env, *membership_reasons(planned, group))}
    for name in {*rendered, *command.env} - set(wanted):
        assert reasons[name].why, name
        assert reasons[name].source, name
    if "draft" in case:
        assert planned.draft
        assert planned.draft.repository == case["draft"]


def addresses(planned: FleetPlan) -> dict[str, str]:
    return {host.name: f"10.0.0.{10 + index}" for index, host in enumerate(planned.hosts)}


def _filled(word: str, stand_ins: dict[str, str]) -> str:
    for stand_in, value in stand_ins.items():
        word = word.replace(stand_in, value)
    return word


def _engine(
    parallel: dict[str, Any], *, hybrid: bool = False, asked: dict[str, Any] | None = None
) -> EngineGroup:
    engine = plans.engine(plans.TRAY, Parallelism(**parallel))
    options = tuple(
        Option(name=name, value=value, why="asked for", source="a test", origin="hand")
        for name, value in (asked or {}).items()
    )
    ranks = tuple(rank.model_copy(update={"serves": rank.serves or hybrid}) for rank in engine.ranks)
    return engine.model_copy(update={"options": options, "ranks": ranks})


def _hosts(engine: EngineGroup) -> list[str]:
    return [rank.host for rank in engine.ranks]


def _place(command: RankCommand) -> list[str]:
    """Return the words behind the served name, which is the last that is not about the rank's place."""
    return list(command.argv[command.argv.index("--served-model-name") + 2 :])


def _options(command: RankCommand) -> dict[str, Any]:
    """Return the options of a command by name: a word, true, or false for the `--no-` form; JSON is read."""
    names = [word[2:] for word in command.argv if word.startswith("--")]
    return {
        name.removeprefix("no-"): not name.startswith("no-") and _json(_word(list(command.argv), name))
        for name in names
    }


def _word(words: list[str], name: str) -> str | bool:
    """Return the value of an option; true where it has none."""
    if joined := next((word for word in words if word.startswith(f"--{name}=")), None):
        return joined.partition("=")[2]
    at = words.index(f"--{name}") + 1
    return True if at == len(words) or words[at].startswith("--") else words[at]


def _json(word: str | bool) -> Any:  # noqa: FBT001 - true where an option has no value
    """Return what a JSON object holds; any other word as it is."""
    return json.loads(word) if isinstance(word, str) and word.startswith("{") else word


def _words(value: Any) -> Any:
    return value if isinstance(value, (bool, dict)) else str(value)


def _ours(value: Any, planned: FleetPlan, where: dict[str, str]) -> Any:
    """Return an article's value on our hosts: the head by its address, a draft by its verified copy."""
    if value == "HEAD":
        return where[planned.head.host]
    if isinstance(value, dict) and "model" in value and planned.draft:
        assert value["model"] == planned.draft.repository
        return value | {"model": planned.draft.home}
    return value
