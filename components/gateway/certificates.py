"""Certificates as PEM text: making them, and judging those that somebody gave. Pure but for random numbers.

The only importer of `cryptography`.
"""

import datetime as dt
import ipaddress
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

AUTHORITY_LIFE: Final = dt.timedelta(days=3650)
LIFE: Final = dt.timedelta(days=397)
"""What clients accept at most of a server's certificate, by the rule of the browsers' makers."""
SPARE: Final = dt.timedelta(days=30)
"""With less left, a certificate is made anew."""
# Clocks differ: a certificate that begins now has not begun yet elsewhere.
_SLACK: Final = dt.timedelta(hours=1)
_LONGEST_NAME: Final = 64
_NO_CERTIFICATE: Final = (
    "access: the given certificate is no PEM: give the text from the first -----BEGIN CERTIFICATE----- to "
    "the last -----END CERTIFICATE-----"
)

General = x509.DNSName | x509.IPAddress


@dataclass(frozen=True)
class Pair:
    """A certificate and its private key.

    Attributes:
        certificate: PEM.
        key: PEM (PKCS 8), unencrypted.
    """

    certificate: str
    key: str = field(repr=False)


def make_authority(fleet: str, now: dt.datetime) -> Pair:
    """Return an authority of the fleet's own, which can sign servers and no further authority.

    Args:
        fleet: Identity of the fleet, which its name shows.
        now: With a time zone.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    subject = _name(f"Rackstack {fleet}")
    usage = _usage(signs_certificates=True)
    signed = (
        _begun(subject, subject, key.public_key(), now, now + AUTHORITY_LIFE)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .sign(key, hashes.SHA256())
    )
    return Pair(_pem(signed), _key_pem(key))


def make_leaf(authority: Pair, names: Sequence[str], now: dt.datetime) -> Pair:
    """Return a server's certificate for these names, signed by the authority; it ends no later than that.

    Args:
        authority: One that `make_authority` made.
        names: DNS names and addresses; at least one.
        now: With a time zone.
    """
    issuer = x509.load_pem_x509_certificate(authority.certificate.encode())
    signer = _authority_key(authority.key)
    key = ec.generate_private_key(ec.SECP256R1())
    until = min(now + LIFE, issuer.not_valid_after_utc)
    known = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
    signed = (
        _begun(_name(names[0]), issuer.subject, key.public_key(), now, until)
        .add_extension(x509.SubjectAlternativeName([_general(name) for name in names]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(known, critical=False)
        .sign(signer, hashes.SHA256())
    )
    return Pair(_pem(signed), _key_pem(key))


def faults_of_given(certificate: str, key: str, names: Sequence[str]) -> list[str]:
    """Return one sentence per fault of a given certificate and its key; the clock is left out.

    Args:
        certificate: The server's certificate as PEM, then those that signed it.
        key: Its private key as PEM.
        names: What clients call the server; each must be covered.
    """
    try:
        chain = x509.load_pem_x509_certificates(certificate.encode())
    except ValueError:
        return [_NO_CERTIFICATE]
    return [*_chain_faults(chain), *_key_faults(chain[0], key), *_name_faults(chain[0], names)]


def overdue(certificate: str, now: dt.datetime) -> str | None:
    """Return a clause where a certificate is not yet valid, has ended or ends soon; None where it is well.

    Args:
        certificate: PEM; of a chain, the first counts.
        now: With a time zone.
    """
    leaf = _leaf(certificate)
    if leaf.not_valid_before_utc > now:
        return f"is valid from {_day(leaf.not_valid_before_utc)} on only"
    if leaf.not_valid_after_utc <= now:
        return f"ended on {_day(leaf.not_valid_after_utc)}"
    if leaf.not_valid_after_utc - now < SPARE:
        return f"ends on {_day(leaf.not_valid_after_utc)}, which is less than {SPARE.days} days from now"
    return None


def is_valid(certificate: str, now: dt.datetime) -> bool:
    """Return whether the first certificate of a chain is valid at a moment."""
    leaf = _leaf(certificate)
    return leaf.not_valid_before_utc <= now < leaf.not_valid_after_utc


def covered(certificate: str) -> list[str]:
    """Return the DNS names and addresses that the first certificate of a chain is for."""
    return [str(name.value) for name in _alternatives(_leaf(certificate))]


def last_day(certificate: str) -> str:
    """Return the last day of the first certificate of a chain, as ISO date."""
    return _day(_leaf(certificate).not_valid_after_utc)


def _chain_faults(chain: Sequence[x509.Certificate]) -> Iterator[str]:
    # One that nobody but itself signed is its own authority, and many tools make such.
    if _is_authority(chain[0]) and len(chain) > 1:
        yield (
            f"access: the given certificate begins with that of an authority, "
            f"{chain[0].subject.rfc4514_string()}, and servers show their own first: put the server's "
            f"certificate before those that signed it"
        )
        return
    for signed, signer in itertools.pairwise(chain):
        try:
            signed.verify_directly_issued_by(signer)
        except Exception:  # noqa: BLE001 -- the library raises several kinds, and each means the same here
            yield (
                f"access: in the given certificate, {signer.subject.rfc4514_string()} follows "
                f"{signed.subject.rfc4514_string()} and did not sign it: put each certificate before its "
                f"signer's"
            )


def _key_faults(leaf: x509.Certificate, key: str) -> Iterator[str]:
    try:
        private = serialization.load_pem_private_key(key.encode(), password=None)
    except TypeError:
        yield "access: the given private key is encrypted, and the gateway starts unattended: decrypt it"
        return
    except ValueError:
        yield "access: the given private key is no PEM: give the text with -----BEGIN PRIVATE KEY-----"
        return
    if _spki(private.public_key()) != _spki(leaf.public_key()):
        yield (
            "access: the given private key is not that of the given certificate: give the two that belong "
            "together"
        )


def _name_faults(leaf: x509.Certificate, names: Sequence[str]) -> Iterator[str]:
    patterns = [str(name.value).lower() for name in _alternatives(leaf)]
    for name in names:
        if not any(_matches(name.lower(), pattern) for pattern in patterns):
            yield (
                f"access: clients reach the gateway as {name}, and the given certificate is for "
                f"{', '.join(patterns) or 'no name at all'}: give one that covers it, or set access.name"
            )


def _matches(name: str, pattern: str) -> bool:
    first, _, rest = name.partition(".")
    return name == pattern or (pattern == f"*.{rest}" and bool(first) and not _is_address(name))


def _is_authority(certificate: x509.Certificate) -> bool:
    try:
        return certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except x509.ExtensionNotFound:
        return False


def _alternatives(leaf: x509.Certificate) -> list[General]:
    try:
        found = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    return [name for name in found if isinstance(name, x509.DNSName | x509.IPAddress)]


def _begun(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePublicKey,
    now: dt.datetime,
    until: dt.datetime,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SLACK)
        .not_valid_after(until)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text[:_LONGEST_NAME])])


def _general(name: str) -> General:
    return x509.IPAddress(ipaddress.ip_address(name)) if _is_address(name) else x509.DNSName(name)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _leaf(certificate: str) -> x509.Certificate:
    return x509.load_pem_x509_certificates(certificate.encode())[0]


def _day(moment: dt.datetime) -> str:
    return moment.date().isoformat()


def _authority_key(pem: str) -> ec.EllipticCurvePrivateKey:
    key = serialization.load_pem_private_key(pem.encode(), password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise TypeError("an authority of ours has a key on an elliptic curve, and this one has another kind")
    return key


def _spki(key: object) -> bytes:
    made: bytes = key.public_bytes(  # type: ignore[attr-defined] # every public key of the library has it
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return made


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def _key_pem(key: ec.EllipticCurvePrivateKey) -> str:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
