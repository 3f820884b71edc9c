"""A host's record is the same wherever it has been: on the wire, in a state, in a set."""

from components.hosts.record import HostRecord
from components.plugin import wire
from tests.factories.hosts import host, jump


def test_a_record_comes_back_from_the_wire_with_its_jump_host() -> None:
    sent = host(jump=jump(port=2222))
    came = wire.load(wire.dump({"record": sent}))["record"]
    assert HostRecord.model_validate(came) == sent


def test_a_record_from_before_there_were_jump_hosts_is_still_one() -> None:
    assert HostRecord.model_validate(host().model_dump(exclude={"jump"})) == host()


def test_the_same_host_behind_another_jump_host_is_reached_otherwise() -> None:
    ways = {host(), host(jump=jump()), host(jump=jump()), host(jump=jump(port=2222))}
    assert len(ways) == 3
