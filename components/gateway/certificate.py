"""The resource kind `rack:gateway:Certificate`: what the gateway shows to its clients."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, ClassVar

from pydantic import SecretStr

from components.plugin.kind import Inputs, Kind, Outputs, Seen, new_incarnation
from stacks.errors import Incomplete, Refusal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from components.gateway.certificates import Pair
    from components.plugin.kind import Run

# How a client calls the gateway through SSH.
OWN_NAMES = ("localhost", "127.0.0.1")


class CertificateInputs(Inputs):
    """What the certificate is for.

    Attributes:
        fleet: The fleet's id.
        names: DNS names and addresses by which clients reach the gateway.
        given_certificate: PEM, the server's certificate and those that signed it; '' to have one made.
        given_key: PEM of its private key, unencrypted; '' likewise.
    """

    fleet: str
    names: list[str]
    given_certificate: str
    given_key: SecretStr


class CertificateOutputs(Outputs):
    """The certificate.

    Attributes:
        certificate: PEM, the server's first.
        key: PEM of its private key.
        authority: PEM of the fleet's own authority, which clients have to trust; '' for a given certificate.
        authority_key: PEM of the authority's private key; '' likewise.
        until: Last day of the certificate, ISO.
    """

    certificate: str
    key: SecretStr
    authority: str
    authority_key: SecretStr
    until: str


class Certificate(Kind[CertificateInputs, CertificateOutputs]):
    """A certificate that lives in state; one of ours is made anew in time, by the same authority."""

    token = "rack:gateway:Certificate"  # noqa: S105 -- a type token, no secret
    inputs = CertificateInputs
    outputs = CertificateOutputs
    replace_on: ClassVar = frozenset({"fleet"})

    def identity(self, inputs: CertificateInputs) -> str:
        """Return the certificate's name."""
        return f"{inputs.fleet}-certificate"

    def faults(self, inputs: CertificateInputs) -> Sequence[str]:
        """Refuse a given certificate that cannot serve, whatever the time is."""
        from components.gateway import certificates  # noqa: PLC0415 -- keeps the import of the kind cheap

        key = inputs.given_key.get_secret_value()
        if not inputs.given_certificate and not key:
            return ()
        return certificates.faults_of_given(inputs.given_certificate, key, inputs.names)

    def create(self, inputs: CertificateInputs, run: Run) -> CertificateOutputs:
        """Make a certificate; one that was made by a killed run was never shown."""
        if reason := _untimely(inputs):
            raise Refusal(reason)
        _tell(inputs, run)
        return _made(inputs, new_incarnation(), None)

    def read(
        self, inputs: CertificateInputs, outputs: CertificateOutputs, run: Run
    ) -> Seen[CertificateOutputs]:
        """Hold what is in state against the clock and the names."""
        if inputs.given_certificate:
            _tell(inputs, run)
            reason = _untimely(inputs)
        else:
            reason = _differs(inputs, outputs)
        return Seen(outputs, {"certificate": {"gateway": reason}} if reason else {})

    def update(
        self, old: CertificateInputs, new: CertificateInputs, outputs: CertificateOutputs, run: Run
    ) -> CertificateOutputs:
        """Make one anew where the old one will not do; the authority that clients trust stays."""
        del old
        if reason := _untimely(new):
            raise Incomplete([reason], outputs)
        _tell(new, run)
        if not new.given_certificate and _differs(new, outputs) is None:
            return outputs
        return _made(new, outputs.incarnation, _authority(outputs))

    def delete(self, inputs: CertificateInputs, outputs: CertificateOutputs, run: Run) -> None:
        """Forget the certificate with its state."""
        del inputs, outputs, run


def _made(inputs: CertificateInputs, incarnation: str, authority: Pair | None) -> CertificateOutputs:
    from components.gateway import certificates  # noqa: PLC0415 -- keeps the import of the kind cheap

    if inputs.given_certificate:
        return CertificateOutputs(
            incarnation=incarnation,
            certificate=inputs.given_certificate,
            key=inputs.given_key,
            authority="",
            authority_key=SecretStr(""),
            until=certificates.last_day(inputs.given_certificate),
        )
    signer = authority or certificates.make_authority(inputs.fleet, _now())
    leaf = certificates.make_leaf(signer, _names(inputs), _now())
    return CertificateOutputs(
        incarnation=incarnation,
        certificate=leaf.certificate,
        key=SecretStr(leaf.key),
        authority=signer.certificate,
        authority_key=SecretStr(signer.key),
        until=certificates.last_day(leaf.certificate),
    )


def _authority(outputs: CertificateOutputs) -> Pair | None:
    """Return the authority of the last time; None where there was none, or where it ends too soon to sign."""
    from components.gateway import certificates  # noqa: PLC0415 -- keeps the import of the kind cheap

    if not outputs.authority or certificates.overdue(outputs.authority, _now()):
        return None
    return certificates.Pair(outputs.authority, outputs.authority_key.get_secret_value())


def _differs(inputs: CertificateInputs, outputs: CertificateOutputs) -> str | None:
    """Return why a certificate of ours has to be made anew; None where it will do."""
    from components.gateway import certificates  # noqa: PLC0415 -- keeps the import of the kind cheap

    if not outputs.authority:
        return "the gateway showed a given certificate so far"
    if clause := certificates.overdue(outputs.certificate, _now()):
        return f"the certificate {clause}; a new one is made by the same authority"
    covered = certificates.covered(outputs.certificate)
    if set(covered) != set(_names(inputs)):
        return f"the certificate is for {', '.join(covered)}, not for {', '.join(_names(inputs))}"
    return None


def _untimely(inputs: CertificateInputs) -> str | None:
    """Return why a given certificate cannot be shown now; None where it can, or where none is given."""
    from components.gateway import certificates  # noqa: PLC0415 -- keeps the import of the kind cheap

    given, now = inputs.given_certificate, _now()
    if not given or certificates.is_valid(given, now):
        return None
    return (
        f"access: the given certificate {certificates.overdue(given, now)}, and no client accepts it: "
        "give a valid one, or mend this machine's clock"
    )


def _tell(inputs: CertificateInputs, run: Run) -> None:
    """Warn of a given certificate that ends soon: only its giver can have a new one."""
    from components.gateway import certificates  # noqa: PLC0415 -- keeps the import of the kind cheap

    given, now = inputs.given_certificate, _now()
    if given and certificates.is_valid(given, now) and (clause := certificates.overdue(given, now)):
        run.warn(f"access: the given certificate {clause}; give the next one in time")


def _names(inputs: CertificateInputs) -> list[str]:
    return list(dict.fromkeys([*inputs.names, *OWN_NAMES]))


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)
