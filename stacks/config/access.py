"""Who reaches the fleet, how, and with which keys; every default is closed."""

import ipaddress
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from stacks.values import Value

OPERATOR = "operator"
"""Instead of a network: the address from which `up` reaches the hosts, as they see it."""

_MOST_KEYS = 64
_THIS_NETWORK = ipaddress.IPv4Network("0.0.0.0/8")


def _network(text: str) -> str:
    if text == OPERATOR:
        return text
    if "%" in text:
        raise ValueError(
            "names an interface after its %, which only one machine knows; write the address alone"
        )
    try:
        network = ipaddress.ip_network(text)
    except ValueError:
        raise ValueError(_no_network(text)) from None
    if network.is_unspecified:
        everybody = network.supernet(new_prefix=0)
        raise ValueError(
            f"is the address of nobody in particular; write {everybody} for everybody, or the address that a "
            "client has"
        )
    if _from_nobody(network):
        raise ValueError("is an address from which nobody comes; write the address that a client has")
    return str(network)


def _from_nobody(network: ipaddress.IPv4Network | ipaddress.IPv6Network) -> bool:
    if isinstance(network, ipaddress.IPv6Network):
        return network.is_multicast or network.network_address.ipv4_mapped is not None
    return network.is_multicast or network.is_reserved or network.subnet_of(_THIS_NETWORK)


def _elsewhere(text: str) -> str:
    if text != OPERATOR and ipaddress.ip_network(text).is_loopback:
        raise ValueError(
            "is loopback, by which every machine reaches itself alone and nobody another one; write the "
            "address that a client has, or drop it"
        )
    return text


def _no_network(text: str) -> str:
    try:
        meant = ipaddress.ip_interface(text)
    except ValueError:
        return f"is no network; write an address, a network, or {OPERATOR} for the machine that runs `up`"
    return f"has bits to the right of its length; write {meant.network}, or {meant.ip} for the one address"


Network = Annotated[
    str,
    AfterValidator(_network),
    Field(
        description=f"an address, a network such as 10.20.0.0/16, or {OPERATOR}: the machine that runs `up`"
    ),
]
# Lists in YAML; only the sequence itself may be converted.
Networks = Annotated[tuple[Network, ...], Field(strict=False)]
Others = Annotated[tuple[Annotated[Network, AfterValidator(_elsewhere)], ...], Field(strict=False)]
"""Networks of other machines; through a tunnel that ends on the gateway's, its own may read /metrics."""

# Letters only, so that a secret pasted here by mistake is refused; repr=False keeps it out of the refusal.
Secret = Annotated[str, Field(pattern=r"^[A-Za-z]{1,40}$")]
"""The name of a Pulumi secret."""


class Key(Value):
    """One API key."""

    name: str = Field(
        pattern=r"^[a-z][a-z0-9_]{0,30}$",
        description="a key's name of at most 31 letters a-z, digits and _, a letter first; the gateway's "
        "log shows it",
        examples=["evaluation"],
    )
    secret: Secret | None = Field(
        default=None,
        repr=False,
        description="the name of a Pulumi secret, letters only (`pulumi config set --secret` keeps the key); "
        "without it a key is generated",
        examples=["apiKey"],
    )
    serial: Annotated[int, Field(ge=1, le=10**6)] = Field(
        default=1, description="raise it to have a new generated key under the same name", examples=[2]
    )


class GivenCertificate(Value):
    """A certificate from somewhere else."""

    certificate: str = Field(
        pattern=r"^[A-Za-z]{1,40}$",
        description="the name of a Pulumi configuration value, letters only: the certificate and its chain "
        "as PEM",
        examples=["certificate"],
    )
    key: Secret = Field(
        repr=False,
        description="the name of a Pulumi secret, letters only: the private key as PEM",
        examples=["certificateKey"],
    )


class Access(Value):
    """Who reaches the fleet. Without any of it: nobody but through SSH."""

    name: str | None = Field(
        default=None,
        max_length=253,
        pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)+$",
        description="name by which clients reach the gateway, at most 253 lower-case letters, digits and "
        "hyphens with a dot in between; without it they use its address",
        examples=["k3.example.org"],
    )
    tls: Literal["own-ca", "off"] | GivenCertificate = Field(
        default="own-ca",
        description="own-ca: the stack makes a certificate and its authority; or a given certificate; or off",
        examples=["own-ca"],
    )
    gateway: str | None = Field(
        default=None,
        description="machine of the fleet that the gateway runs on; without it the head",
        examples=["tray-0"],
    )
    sources: Others = Field(
        default=(),
        description="who may reach the gateway; without any it is reached through SSH only",
        examples=[["10.20.0.0/16"]],
    )
    metrics: Networks = Field(
        default=(), description="which of the sources may read /metrics", examples=[["10.20.0.9"]]
    )
    operators: Others = Field(
        default=(),
        description="who may reach SSH: the machines that run `up`, and jump hosts",
        examples=[["10.20.1.0/24"]],
    )
    # A key pasted anywhere below stays out of the refusal.
    keys: Annotated[tuple[Key, ...], Field(strict=False)] = Field(
        default=(Key(name="default"),),
        repr=False,
        description="the API keys, a list of name and, where it is not generated, secret",
        json_schema_extra={"minItems": 1, "maxItems": _MOST_KEYS},
    )

    # Not as limits of the list: a wrong key would make it too short, and be told twice.
    @model_validator(mode="after")
    def _has_keys(self) -> Self:
        if not self.keys:
            raise ValueError(
                "keys is empty, and one key at least is needed; write a list such as [{name: evaluation}], "
                "or leave keys out for one that is generated"
            )
        if len(self.keys) > _MOST_KEYS:
            raise ValueError(f"keys lists {len(self.keys)} keys; it must list at most {_MOST_KEYS}")
        return self
