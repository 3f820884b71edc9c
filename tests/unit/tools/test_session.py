"""How `make` works on a stack: a copy of its file, and locks of killed runs."""

from pathlib import Path

import pytest

from lifecycle import environment as places
from stacks.errors import ConfigError, Refusal
from tools.drive.session import Session, salted

COMMITTED = "config:\n  rackstack:fleet: {}\n"
BY_HAND = f"encryptionsalt: v1:theirs\n{COMMITTED}"
OWN = "encryptionsalt: v1:ours\n"


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with one stack file, and an engine that only writes down what it is asked."""
    (tmp_path / "stacks").mkdir()
    (tmp_path / "stacks/Pulumi.lab.yaml").write_text(COMMITTED)
    engine = tmp_path / "engine"
    engine.mkdir()
    (engine / "pulumi").write_text(f'#!/bin/sh\necho "$@" >>{tmp_path}/asked\n')
    (engine / "pulumi").chmod(0o755)
    monkeypatch.setattr(places, "CHECKOUT", tmp_path)
    monkeypatch.setattr(places, "STATE", tmp_path / ".state")
    monkeypatch.setattr("tools.bootstrap.engine.ensure", lambda: engine)
    for name in ("PULUMI_BACKEND_URL", "PULUMI_CONFIG_PASSPHRASE", "PULUMI_CONFIG_PASSPHRASE_FILE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def test_an_unknown_stack_is_named_with_those_there_are(checkout: Path) -> None:
    with pytest.raises(
        Refusal, match=r"^STACK=lob: there is no Pulumi\.lob\.yaml .*did you mean lab\? known are: lab;"
    ):
        Session("lob")
    assert not (checkout / "asked").exists()


def test_a_folder_a_dangling_link_and_an_endless_name_are_no_stacks(checkout: Path) -> None:
    (checkout / "stacks/Pulumi.folder.yaml").mkdir()
    (checkout / "stacks/Pulumi.nowhere.yaml").symlink_to(checkout / "gone")
    for stack in ("folder", "nowhere", "x" * 300):
        with pytest.raises(Refusal, match=rf"^STACK={stack}: there is no .* known are: lab; or write"):
            Session(stack)


def test_a_stack_file_that_is_no_text_is_refused_before_the_engine_is_asked(checkout: Path) -> None:
    (checkout / "stacks/Pulumi.lab.yaml").write_bytes(b"config: \xff\n")
    with pytest.raises(ConfigError, match=r"^stacks/Pulumi\.lab\.yaml:1: is no text in UTF-8"):
        Session("lab").create()
    assert not (checkout / "asked").exists()


def test_the_copy_follows_the_committed_file_and_keeps_its_salt(checkout: Path) -> None:
    stack = Session("lab")
    stack.operate("preview")
    assert stack.copy.read_text() == COMMITTED
    stack.copy.write_text(f"{COMMITTED}encryptionsalt: v1:abc\n")
    stack.committed.write_text("config: {}\n")
    stack.operate("preview")
    assert stack.copy.read_text() == "config: {}\nencryptionsalt: v1:abc\n"
    assert stack.committed.read_text() == "config: {}\n"
    assert f"preview --stack lab --config-file {stack.copy}" in (checkout / "asked").read_text()


@pytest.mark.parametrize(
    ("committed", "own", "ours", "copy"),
    [
        (COMMITTED, "", True, COMMITTED),
        (BY_HAND, "", True, BY_HAND),
        (BY_HAND, OWN, True, f"{COMMITTED}{OWN}"),
        (BY_HAND, OWN, False, BY_HAND),
        (f"{BY_HAND}  key: {{secure: c}}\n", OWN, True, f"{BY_HAND}  key: {{secure: c}}\n"),
    ],
    ids=["none", "no other", "a foreign one", "a person's passphrase", "beside secrets"],
)
def test_a_salt_left_by_hand_gives_way_to_the_own(committed: str, own: str, copy: str, *, ours: bool) -> None:
    assert salted(committed, own, ours=ours) == copy


def test_the_passphrase_is_made_once_and_for_the_owner_alone(checkout: Path) -> None:
    engine = checkout / "engine"
    first, second = (Path(places.environment(engine)["PULUMI_CONFIG_PASSPHRASE_FILE"]) for _ in range(2))
    assert first.read_text() == second.read_text() != ""
    assert first.stat().st_mode & 0o777 == 0o600
    assert first.parent == checkout / ".state"


def test_what_the_person_has_set_wins(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULUMI_BACKEND_URL", "s3://bucket")
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "")
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    made = places.environment(checkout / "engine")
    assert made["PULUMI_BACKEND_URL"] == "s3://bucket"
    assert "PULUMI_CONFIG_PASSPHRASE_FILE" not in made
    assert "PYTHONPATH" not in made
    assert not (checkout / ".state/backend").exists()


@pytest.mark.usefixtures("checkout")
def test_without_an_engine_the_way_to_one_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(Refusal, match=r"^there is no `pulumi` on PATH: `make recover`"):
        places.environment()
