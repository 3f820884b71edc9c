"""Certificates: what is made, and what is said of those that somebody gave."""

import datetime as dt
import socket
import ssl
import threading
from pathlib import Path

import pytest

from components.gateway import certificates
from components.gateway.certificates import Pair

NOW = dt.datetime(2026, 12, 1, 12, tzinfo=dt.UTC)
NAMES = ["k3.example.org", "10.20.0.4", "localhost"]


@pytest.fixture(scope="module")
def authority() -> Pair:
    return certificates.make_authority("k3-123456", NOW)


@pytest.fixture(scope="module")
def leaf(authority: Pair) -> Pair:
    return certificates.make_leaf(authority, NAMES, NOW)


def greet(server: Pair, trusted: str, name: str, folder: Path) -> None:
    """Shake hands over a pair of sockets, with the checks of a client.

    Raises:
        ssl.SSLError: The client refuses the server.
    """
    (folder / "pair.pem").write_text(server.certificate + server.key)
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(folder / "pair.pem")
    asking = ssl.create_default_context(cadata=trusted)
    asking.verify_flags |= ssl.VERIFY_X509_STRICT
    ours, theirs = socket.socketpair()

    def serve() -> None:
        try:
            serving.wrap_socket(theirs, server_side=True).close()
        except OSError:
            theirs.close()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        asking.wrap_socket(ours, server_hostname=name).close()
    finally:
        ours.close()
        thread.join()


@pytest.mark.parametrize("name", NAMES)
def test_a_strict_client_takes_what_is_made(name: str, tmp_path: Path) -> None:
    today = dt.datetime.now(dt.UTC)
    signer = certificates.make_authority("k3-123456", today)
    greet(certificates.make_leaf(signer, NAMES, today), signer.certificate, name, tmp_path)


def test_a_client_refuses_another_name_and_another_authority(tmp_path: Path) -> None:
    today = dt.datetime.now(dt.UTC)
    signer, other = (certificates.make_authority(fleet, today) for fleet in ("a", "b"))
    made = certificates.make_leaf(signer, NAMES, today)
    with pytest.raises(ssl.SSLError, match="certificate is not valid for 'other'"):
        greet(made, signer.certificate, "other", tmp_path)
    with pytest.raises(ssl.SSLError, match="unable to get local issuer"):
        greet(made, other.certificate, NAMES[0], tmp_path)


def test_a_server_lasts_as_long_as_clients_allow_and_an_authority_ten_years(
    authority: Pair, leaf: Pair
) -> None:
    assert certificates.last_day(leaf.certificate) == "2028-01-02"
    assert certificates.last_day(authority.certificate) == "2036-11-28"
    assert certificates.covered(leaf.certificate) == NAMES
    assert certificates.is_valid(leaf.certificate, NOW - dt.timedelta(minutes=59))
    assert not certificates.is_valid(leaf.certificate, NOW - dt.timedelta(minutes=61))


def test_no_server_outlasts_its_authority(authority: Pair) -> None:
    late = NOW + dt.timedelta(days=3600)
    made = certificates.make_leaf(authority, NAMES, late)
    assert certificates.last_day(made.certificate) == certificates.last_day(authority.certificate)


@pytest.mark.parametrize(
    ("days", "clause"),
    [
        (-1, "is valid from 2026-12-01 on only"),
        (0, None),
        (366, None),
        (368, "ends on 2028-01-02, which is less than 30 days from now"),
        (397, "ended on 2028-01-02"),
    ],
)
def test_a_certificate_is_overdue_in_time(leaf: Pair, days: int, clause: str | None) -> None:
    assert certificates.overdue(leaf.certificate, NOW + dt.timedelta(days=days)) == clause


def test_a_key_does_not_show(leaf: Pair) -> None:
    assert "PRIVATE" not in repr(leaf)


def test_a_good_given_certificate_has_no_fault(leaf: Pair, authority: Pair) -> None:
    chain = leaf.certificate + authority.certificate
    assert certificates.faults_of_given(chain, leaf.key, NAMES) == []
    assert certificates.faults_of_given(leaf.certificate, leaf.key, ["K3.Example.ORG"]) == []


@pytest.mark.parametrize(
    "text", ["", "no certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"]
)
def test_what_is_no_certificate_is_told_so(text: str, leaf: Pair) -> None:
    (fault,) = certificates.faults_of_given(text, leaf.key, NAMES)
    assert "the given certificate is no PEM" in fault


def test_an_authority_first_is_told_so(leaf: Pair, authority: Pair) -> None:
    chain = authority.certificate + leaf.certificate
    fault, *_ = certificates.faults_of_given(chain, authority.key, [])
    assert "begins with that of an authority, CN=Rackstack k3-123456" in fault


def test_one_that_signed_itself_is_its_own_authority(authority: Pair) -> None:
    """`openssl req -x509` marks what it makes as an authority, and it has no name of a server here."""
    assert certificates.faults_of_given(authority.certificate, authority.key, []) == []
    (fault,) = certificates.faults_of_given(authority.certificate, authority.key, NAMES[:1])
    assert "is for no name at all: give one that covers it, or set access.name" in fault


def test_a_chain_out_of_order_is_told_so(leaf: Pair) -> None:
    other = certificates.make_authority("other", NOW)
    (fault,) = certificates.faults_of_given(leaf.certificate + other.certificate, leaf.key, [])
    assert "CN=Rackstack other follows CN=k3.example.org and did not sign it" in fault


def test_a_key_that_does_not_belong_to_it_is_told_so(leaf: Pair, authority: Pair) -> None:
    (fault,) = certificates.faults_of_given(leaf.certificate, authority.key, [])
    assert "is not that of the given certificate" in fault
    (fault,) = certificates.faults_of_given(leaf.certificate, "", [])
    assert "the given private key is no PEM" in fault
    assert authority.key not in fault


def test_an_encrypted_key_is_told_so(leaf: Pair) -> None:
    (fault,) = certificates.faults_of_given(leaf.certificate, ENCRYPTED, [])
    assert "the given private key is encrypted" in fault


@pytest.mark.parametrize(
    ("name", "covered"),
    [
        ("a.example.org", True),
        ("example.org", False),
        ("a.b.example.org", False),
        ("10.20.0.4", False),
    ],
)
def test_a_star_covers_one_label(authority: Pair, name: str, covered: bool) -> None:  # noqa: FBT001 -- a case's verdict
    star = certificates.make_leaf(authority, ["*.example.org"], NOW)
    faults = certificates.faults_of_given(star.certificate, star.key, [name])
    assert len(faults) == (not covered)
    assert all(f"as {name}, and the given certificate is for *.example.org" in fault for fault in faults)


# Of `openssl genpkey -algorithm ED25519 -aes256 -pass pass:x`; it opens nothing.
ENCRYPTED = """-----BEGIN ENCRYPTED PRIVATE KEY-----
MIGbMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAgfepNCvXNfcwICCAAw
DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEOhuYU+uHjbnjdAKW+lL8kAEQN4A
gdZVIHFBgzK9gYksw8bGDrGoGl9ATK4NZ+BBI6IiLDIi5t9p8oCqAzk9FQRe4wnQ
VZGTn3b8rFjEHTWsP/E=
-----END ENCRYPTED PRIVATE KEY-----
"""
