"""Whether those who are meant reach the fleet, and nobody else."""

from collections import Counter
from collections.abc import Iterator

from stacks.config import OPERATOR, GivenCertificate
from stacks.planning import placement, secret
from stacks.planning.access import collapsed, within
from stacks.planning.design import Design
from stacks.planning.rules.rule import Finding, Rule, either
from stacks.planning.sized import Sized

_NGINX = "https://nginx.org/en/docs/http/configuring_https_servers.html"
_FEW = 4
"""Machines that a sentence lists one by one."""


def _gateway_is_a_machine(design: Design, _: Sized) -> Iterator[Finding]:
    names = [placement.name(design, index) for index in range(design.count)]
    gateway = design.config.access.gateway
    if gateway is not None and gateway not in names:
        listed = either(names) if len(names) <= _FEW else f"{names[0]} to {names[-1]}"
        yield Finding(
            "access.gateway",
            gateway,
            "names no machine of this fleet",
            f"write {listed}, or leave it out for the head",
        )


def _encrypted_on_a_network(design: Design, _: Sized) -> Iterator[Finding]:
    wanted = design.config.access
    if wanted.tls == "off" and wanted.sources and not design.lab:
        yield Finding(
            "access.tls",
            wanted.tls,
            "sends keys, prompts and answers in clear over a network",
            "write own-ca or a certificate of your own, or drop access.sources, so that SSH encrypts",
        )


def _certificate_is_for_the_name(design: Design, _: Sized) -> Iterator[Finding]:
    wanted = design.config.access
    if not isinstance(wanted.tls, GivenCertificate):
        return
    if wanted.name is None:
        yield Finding(
            "access.tls",
            "a given certificate",
            "is made out to a name, and the stack says none",
            "write access.name: with a name that stands in the certificate",
        )
    if not wanted.sources:
        yield Finding(
            "access.tls",
            "a given certificate",
            "is made out to another name than localhost, by which a gateway is reached that is private",
            "write own-ca, or name access.sources",
        )


def _metrics_readers_get_in(design: Design, _: Sized) -> Iterator[Finding]:
    wanted = design.config.access
    sources = collapsed(wanted.sources)
    for index, network in enumerate(wanted.metrics if sources else ()):
        if network != OPERATOR and not within(network, sources):
            yield Finding(
                f"access.metrics[{index}]",
                network,
                "is not among access.sources, and the firewall lets nobody else to the gateway",
                "name it there too, or drop it",
            )


def _keys_are_told_apart(design: Design, _: Sized) -> Iterator[Finding]:
    keys = design.config.access.keys
    for name in _twice([key.name for key in keys]):
        yield Finding(
            "access.keys",
            name,
            "names two keys, and the gateway's log could not tell them apart",
            "rename one",
        )
    for shared in _twice([key.secret for key in keys if key.secret]):
        names = [key.name for key in keys if key.secret == shared]
        # The name of the secret may be the secret itself, pasted.
        yield Finding(
            "access.keys",
            secret.HIDDEN,
            f"is the secret of {' and '.join(names)}, and none of them could be withdrawn alone",
            "give each a secret of its own, or drop one of them",
        )


def _serials_make_keys(design: Design, _: Sized) -> Iterator[Finding]:
    for index, key in enumerate(design.config.access.keys):
        if key.secret and "serial" in key.model_fields_set:
            yield Finding(
                f"access.keys[{index}].serial",
                key.serial,
                f"makes a generated key anew, and {key.name} is not generated",
                "drop it, and change the secret itself (`pulumi config set --secret`)",
            )


def _twice(names: list[str]) -> Iterator[str]:
    yield from (name for name, times in Counter(names).items() if times > 1)


RULES = (
    Rule(
        "gateway-is-a-machine",
        "the gateway runs on a machine of the fleet",
        "stacks/planning/placement.py",
        _gateway_is_a_machine,
    ),
    Rule(
        "encrypted-on-a-network",
        "a gateway that is reached over a network has TLS; only the lab's stays on one machine",
        "https://docs.vllm.ai/en/stable/usage/security/",
        _encrypted_on_a_network,
    ),
    Rule(
        "certificate-is-for-the-name",
        "a given certificate comes with the name that clients use, and with clients that use it",
        _NGINX,
        _certificate_is_for_the_name,
    ),
    Rule(
        "metrics-readers-get-in",
        "who may read /metrics may reach the gateway",
        "playbooks/roles/firewall",
        _metrics_readers_get_in,
    ),
    Rule(
        "keys-are-told-apart",
        "every API key has a name and a secret of its own",
        "stacks/config/access.py",
        _keys_are_told_apart,
    ),
    Rule(
        "serials-make-keys",
        "a serial stands only beside a key that is generated",
        "stacks/config/access.py",
        _serials_make_keys,
    ),
)
