"""No secret lies anywhere but in its file, while keys and certificates come and go. The story's middle."""

from __future__ import annotations

import datetime as dt
import ipaddress
from typing import TYPE_CHECKING

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.lab import sweep
from tests.lab.faults.served import HEAD, LONGEST_KEY, SECRET_FILES
from tests.lab.spellings import found

if TYPE_CHECKING:
    from tests.lab.faults.served import Served

pytestmark = [pytest.mark.lab, pytest.mark.long]

KEYS = "/etc/rackstack/gateway/keys.conf"
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def test_after_up_every_secret_lies_where_it_must_and_nowhere_else(served: Served) -> None:
    served.learn()
    assert {held.path for held in sweep.on(served.host(HEAD), served.secrets)} == SECRET_FILES
    assert served.betrayed() == []


def test_a_look_and_a_refresh_betray_nothing(served: Served) -> None:
    served.preview()
    served.run("refresh", "--yes", "--skip-preview", "--stack", served.stack)
    assert served.betrayed() == []


def test_a_rotation_leaves_no_old_secret_on_any_host_and_starts_no_rank_again(served: Served) -> None:
    old = dict(served.secrets)
    before, address = served.invocations(), served.host(HEAD).address
    certificate, key = _certificate(ipaddress.ip_address(address))
    served.authority = certificate
    served.secrets["the given key"] = key
    served.configure("certificate", certificate)
    served.configure("certificateKey", key, "--secret")
    served.grant(
        {"name": "other", "serial": 2},
        {"name": "third"},
        name=address,
        tls={"certificate": "certificate", "key": "certificateKey"},
    )
    trusted = served.folder / "authority.pem"
    trusted.write_text(certificate)
    served.environment["SSL_CERT_FILE"] = str(trusted)  # as a person does whose authority is a private one
    served.up()
    del served.environment["SSL_CERT_FILE"]
    served.learn()
    assert served.invocations() == before
    assert served.answers()
    assert served.betrayed() == []
    kept = {"/etc/rackstack/rank.env", KEYS}
    assert {held.path for held in sweep.on(served.host(HEAD), old)} <= kept
    withdrawn = {"withdrawn": old["the configured key"]}
    assert sweep.on(served.host(HEAD), withdrawn) == []
    assert LONGEST_KEY not in served.outputs()["apiKeys"]


def test_a_failing_up_betrays_nothing(served: Served) -> None:
    served.on(HEAD, f"mount --bind {KEYS} {KEYS}")  # so that it cannot be replaced
    served.grant({"name": "other", "serial": 3})  # and the fleet's own authority again
    shown = served.up(code=1)
    served.on(HEAD, f"umount {KEYS}")
    served.learn()
    assert found(served.secrets, shown.encode()) == []
    assert served.betrayed() == []


def _certificate(address: Address) -> tuple[str, str]:
    """Return a certificate that vouches for itself and is for an address, and its key, as PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "made by a test")])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=30))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(address)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    form, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    pem = serialization.Encoding.PEM
    return made.public_bytes(pem).decode(), key.private_bytes(pem, form, plain).decode()
