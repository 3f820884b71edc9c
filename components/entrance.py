"""How clients come in: the API keys, the certificate, and what the stack's outputs say of both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import pulumi
from pulumi.runtime import is_config_secret

from components import results
from components.gateway.certificate import Certificate
from components.gateway.keys import faults_of_key
from components.plugin.resource import Ensured
from components.serving.key import ApiKey
from stacks import report
from stacks.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from stacks.planning.plan import FleetPlan
    from stacks.planning.reach import AccessPlan

_ENGINE_KEY: Final = "engine-key"


@dataclass(frozen=True)
class Given:
    """What the stack's configuration holds, each a secret.

    Attributes:
        keys: Name of an API key → the key; those that are generated are missing.
        certificate: The certificate with its chain as PEM; empty where none is given.
        certificate_key: Its private key as PEM; empty likewise.
    """

    keys: Mapping[str, pulumi.Output[str]]
    certificate: str
    certificate_key: pulumi.Output[str]


def given(access: AccessPlan) -> Given:
    """Read what the plan names.

    Raises:
        ConfigError: Something is missing, lies there in clear, or is no key that can be used; all at once.
    """
    faults = [*_key_faults(access), *_certificate_faults(access)]
    if faults:
        raise ConfigError(faults)
    config = pulumi.Config()
    certificate, certificate_key = access.certificate or "", access.certificate_key or ""
    return Given(
        keys={key.name: config.require_secret(key.secret) for key in access.keys if key.secret},
        certificate=config.require(certificate) if certificate else "",
        certificate_key=config.require_secret(certificate_key)
        if certificate_key
        else pulumi.Output.secret(""),
    )


class Entrance:
    """The declared keys and certificate of a fleet.

    Attributes:
        access: Variables of the playbook `access` that lie in no inventory.
        certificate: What the gateway shows, as PEM; empty without TLS.
        authority: The certificate of the authority to trust, as PEM; empty where the client knows it already.
        engine_key: What the gateway, and nobody else, shows to the engine.
        key: The API key that Rackstack itself uses.
        url: Base URL of the API, ending in /v1.
    """

    def __init__(
        self,
        plan: FleetPlan,
        fleet: str,
        configured: Given,
        address: pulumi.Output[str],
        opts: pulumi.ResourceOptions,
    ) -> None:
        """Declare them; what is not given is made.

        Args:
            plan: The fleet.
            fleet: Its name on shared ground.
            configured: What the stack's configuration holds.
            address: Of the host that the gateway runs on.
            opts: The parent, and what everything depends on.
        """
        self._plan, self._fleet, self._opts = plan, fleet, opts
        self.engine_key = self._generated(_ENGINE_KEY, 1)
        self._keys = {
            key.name: configured.keys[key.name]
            if key.secret
            else self._generated(f"api-key-{key.name}", key.serial)
            for key in plan.access.keys
        }
        self.key = self._keys[plan.access.keys[0].name]
        self.certificate, self.authority = pulumi.Output.from_input(""), pulumi.Output.from_input("")
        self.access = {f"gateway_secret_{name}": key for name, key in self._keys.items()}
        self.access["gateway_engine_key"] = self.engine_key
        self.url = address.apply(plan.access.url)
        if plan.access.tls != "off":
            made = self._certificate(configured, address)
            self.certificate, self.authority = made.out("certificate"), made.out("authority")
            self.access["gateway_certificate_key"] = made.out("key")

    def results(self, record: pulumi.Output[dict[str, Any]]) -> dict[str, Any]:
        """Return the stack's outputs on the way in.

        Args:
            record: Of the host that the gateway runs on.
        """
        plan = self._plan
        return {
            "endpoint": self.url,
            "apiKey": pulumi.Output.secret(self.key),
            "apiKeys": pulumi.Output.secret(pulumi.Output.all(**self._keys)),
            "caCertificate": self.authority,
            "reach": record.apply(lambda known: results.reach(plan.access, known))
            if plan.access.private
            else None,
            "snippet": self.url.apply(lambda url: report.snippet(plan, url)),
        }

    def _generated(self, name: str, serial: int) -> pulumi.Output[str]:
        inputs = {"fleet": self._fleet, "name": name, "serial": serial}
        return Ensured(ApiKey, name, inputs, self._opts).out("key")

    def _certificate(self, configured: Given, address: pulumi.Output[str]) -> Ensured:
        access = self._plan.access
        # A given one must be for what clients say; one of ours is for every name that they could say.
        said = self.url.apply(lambda url: urlsplit(url).hostname)
        names = [said] if access.tls == "given" else [address, *([access.name] if access.name else [])]
        inputs = {
            "fleet": self._fleet,
            "names": names,
            "given_certificate": configured.certificate,
            "given_key": configured.certificate_key,
        }
        return Ensured(Certificate, "certificate", inputs, self._opts)


def _key_faults(access: AccessPlan) -> Iterator[str]:
    for index, key in enumerate(access.keys):
        if key.secret is None:
            continue
        path, command = f"access.keys.{index}.secret", f"pulumi config set --secret {key.secret}"
        yield from _secret_faults(path, key.secret, command)
        if (value := _value(key.secret)) is not None:
            yield from faults_of_key(key.name, value)


def _certificate_faults(access: AccessPlan) -> Iterator[str]:
    certificate, key = access.certificate, access.certificate_key
    if certificate and _value(certificate) is None:
        yield (
            f"access.tls.certificate: {certificate}: there is no such value; run "
            f"`pulumi config set {certificate} <FILE` with the certificate and its chain"
        )
    if key:
        yield from _secret_faults("access.tls.key", key, f"pulumi config set --secret {key} <FILE")


def _secret_faults(path: str, name: str, command: str) -> Iterator[str]:
    if _value(name) is None:
        yield f"{path}: {name}: there is no such secret; run `{command}`"
    elif not is_config_secret(pulumi.Config().full_key(name)):
        yield f"{path}: {name}: it stands in the stack file in clear; change it, and run `{command}`"


def _value(name: str) -> str | None:
    return pulumi.Config().get(name)
