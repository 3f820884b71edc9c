"""What a stack's outputs say of its plan, for every stack that ships."""

import json
import shlex

import pytest

from components import results
from tests.factories import stacks
from tests.factories.hosts import KEY, host, jump


@pytest.mark.parametrize("name", stacks.NAMES)
def test_outputs_of_the_plan_are_data_that_pulumi_can_keep(name: str) -> None:
    plan = stacks.planned(name)
    told = results.of_the_plan(plan)
    commands = results.commands(plan, {host.name: host.name for host in plan.hosts})
    assert json.loads(json.dumps([told, commands])) == [told, commands]
    assert told["model"] == plan.served_name
    assert told["evidence"]
    assert told["plan"].startswith(f"# {name}: ")
    assert {command["host"] for command in commands} == {host.name for host in plan.hosts}


def test_a_contract_says_what_a_client_has_to_set() -> None:
    contract = results.of_the_plan(stacks.planned("qwen38-gb300-fp8"))["contract"]
    assert contract["reasoning_parser"] == "qwen3"
    assert contract["efforts"][0] == "xhigh"
    assert contract["sampling"]["top_k"] == 20
    assert contract["timeout"] == 3600


def test_a_private_endpoint_comes_with_the_line_that_opens_it() -> None:
    access = stacks.planned("lab", {"access.sources": []}).access
    record = host("host-0", address="10.0.0.2", port=2222, identity_file="/my keys/fleet")
    line = results.reach(access, record.model_dump() | {"port": 2222.0})  # as it comes over the wire
    words = shlex.split(line)
    assert words[:6] == ["ssh", "-N", "-L", "8443:127.0.0.1:8443", "-F", "none"]
    assert "IdentityFile='/my keys/fleet'" in words
    assert f"KnownHostsCommand=/bin/echo [10.0.0.2]:2222 {KEY}" in words
    assert words[-1] == "root@10.0.0.2"
    assert not [word for word in words if word.startswith("ProxyCommand")]


def test_the_line_through_a_jump_host_knows_both_by_their_keys() -> None:
    access = stacks.planned("lab", {"access.sources": []}).access
    record = host(address="10.0.0.2", jump=jump(port=2222)).model_dump()
    record["jump"]["port"] = 2222.0  # as it comes over the wire
    words = shlex.split(results.reach(access, record))
    (proxy,) = [word for word in words if word.startswith("ProxyCommand=")]
    assert f"KnownHostsCommand=/bin/echo 10.0.0.2 {KEY}" in words
    inner = shlex.split(proxy.removeprefix("ProxyCommand="))
    assert f"KnownHostsCommand=/bin/echo [192.0.2.1]:2222 {KEY}" in inner
    assert inner[-1] == "ops@192.0.2.1"
