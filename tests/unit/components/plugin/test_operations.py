"""The plugin's answers in decoded values."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from components.plugin import operations, wire
from stacks.errors import Refusal
from tests.factories.kinds import Thing
from tests.factories.run import FakeRun

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.factories.kinds import ThingInputs

KIND = Thing()
NEWS = {"name": "t", "size": 1, "place": "here", "key": wire.Secret("k-secret"), "drift": {}}


def run() -> FakeRun:
    return FakeRun("t", threading.Event())


def witness() -> operations.Witness:
    made = run()
    return operations.Witness(made, made.said, str.upper)


def test_inputs_that_are_unknown_yet_are_not_judged() -> None:
    assert operations.check(KIND, {"name": wire.UNKNOWN, "size": wire.UNKNOWN}) == []


def test_what_is_known_is_judged_beside_what_is_not() -> None:
    faults = operations.check(KIND, {"name": wire.UNKNOWN, "size": "big", "colour": "red"})
    assert faults == ["size: Input should be a valid integer", "colour: Extra inputs are not permitted"]


def test_rules_beyond_types_are_judged_once_all_is_known() -> None:
    assert operations.check(KIND, {"name": "t", "size": -1}) == ["size: -1: must be at least 0"]


def test_a_program_cannot_set_the_drift() -> None:
    assert "remove it" in operations.check(KIND, {"name": "t", "size": 1, "drift": {}})[0]


def test_a_changed_input_is_an_update_and_a_replacing_one_a_replacement() -> None:
    assert operations.diff(KIND, NEWS, NEWS) == operations.Change((), ())
    assert operations.diff(KIND, NEWS, {**NEWS, "size": 2}) == operations.Change(("size",), ())
    moved = operations.diff(KIND, NEWS, {**NEWS, "size": 2, "place": "there"})
    assert moved == operations.Change(("place", "size"), ("place",))


def test_drift_that_was_seen_is_a_change() -> None:
    seen = {**NEWS, "drift": {"t": {"size": "it shrank"}}}
    assert operations.diff(KIND, seen, NEWS).changed == ("drift",)


def test_a_preview_shows_what_is_foreseen_and_nothing_wrong() -> None:
    shown = operations.foresee_create(KIND, NEWS)
    assert (shown["address"], shown["token"], shown["incarnation"]) == (
        "t.example",
        wire.UNKNOWN,
        wire.UNKNOWN,
    )


def test_a_preview_with_an_unknown_input_foresees_nothing() -> None:
    assert operations.foresee_create(KIND, {**NEWS, "name": wire.UNKNOWN})["address"] == wire.UNKNOWN


def test_a_preview_of_an_update_keeps_only_what_no_update_changes() -> None:
    olds = {**NEWS, "address": "t.example", "token": wire.Secret("t-secret"), "incarnation": "i1"}
    shown = operations.foresee_update(KIND, olds, {**NEWS, "size": 2})
    assert (shown["address"], shown["incarnation"], shown["token"]) == ("t.example", "i1", wire.UNKNOWN)


def test_a_preview_of_an_update_keeps_what_this_update_does_not_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[frozenset[str]] = []

    def kept_by(changed: frozenset[str]) -> frozenset[str]:
        asked.append(changed)
        return frozenset({"token"})

    monkeypatch.setattr(KIND, "kept_by", kept_by)
    olds = {**NEWS, "address": "t.example", "token": wire.Secret("t-secret"), "incarnation": "i1"}
    shown = operations.foresee_update(KIND, olds, {**NEWS, "size": 2, "drift": {}})
    assert (shown["address"], shown["token"]) == (wire.UNKNOWN, wire.Secret("t-secret"))
    assert asked == [frozenset({"size"})]


def test_create_returns_name_and_incarnation_as_id_and_keeps_secrets_marked() -> None:
    made, properties = operations.create(KIND, NEWS, witness())
    assert made == "t/i1"
    sent = wire.load(wire.dump(properties))
    assert (sent["token"], sent["key"]) == (wire.Secret("t-secret"), wire.Secret("k-secret"))


def test_what_was_made_but_is_not_well_keeps_its_id_and_outputs() -> None:
    with pytest.raises(operations.Unwell, match="unlucky") as unwell:
        operations.create(KIND, {**NEWS, "size": 13}, witness())
    assert (unwell.value.identifier, unwell.value.properties["address"]) == ("t/i1", "t.example")


def test_an_update_that_does_not_end_well_keeps_the_id_in_state() -> None:
    olds = {**NEWS, "address": "t.example", "token": "t-secret", "incarnation": "i1"}
    with pytest.raises(operations.Unwell) as unwell:
        operations.update(KIND, "t/i1", (NEWS, olds), {**NEWS, "size": 13}, witness())
    assert unwell.value.identifier == "t/i1"


def test_a_look_reports_drift_in_inputs_and_properties() -> None:
    olds = {**NEWS, "address": "t.example", "token": "t-secret", "incarnation": "i1"}
    seen = operations.read(KIND, NEWS, olds, run())
    assert seen is not None
    assert seen[0]["drift"] == seen[1]["drift"] == {"here": {"size": "it shrank"}}


def test_a_look_at_what_is_gone_returns_nothing() -> None:
    olds = {**NEWS, "address": "t.example", "token": "t-secret", "incarnation": "i1"}
    assert operations.read(KIND, {**NEWS, "size": 99}, olds, run()) is None


def test_an_import_is_refused_with_the_way_out() -> None:
    with pytest.raises(Refusal, match="cannot be imported"):
        operations.read(KIND, {}, {}, run())


class Kept(Thing):
    """A thing whose failures are kept, or cannot be."""

    def __init__(self, trouble: str = "") -> None:
        self.found: dict[str, str] = {}
        self._trouble = trouble

    def bundle(self, inputs: ThingInputs, found: Mapping[str, str], clean: Callable[[str], str]) -> Path:
        """Remember what there is to keep."""
        del inputs
        if self._trouble:
            raise OSError(self._trouble)
        self.found = {name: clean(text) for name, text in found.items()}
        return Path(".state/bundles/x.tar.gz")


@pytest.mark.parametrize(("size", "why"), [(0, "a thing needs a size; give it one"), (13, "take 14")])
def test_a_failure_names_the_archive_with_all_that_was_seen(size: int, why: str) -> None:
    kind = Kept()
    with pytest.raises(
        (Refusal, operations.Unwell), match=rf"{why}; all that was seen is in \.state/bundles/x"
    ):
        operations.create(kind, {**NEWS, "size": size}, witness())
    assert why.upper() in kind.found["failure.txt"]
    assert kind.found["told.txt"] == "MAKING T\n"


def test_a_failing_update_names_it_too() -> None:
    olds = {**NEWS, "address": "t.example", "token": "t-secret", "incarnation": "i1"}
    with pytest.raises(operations.Unwell, match="take 14; all that was seen is in "):
        operations.update(Kept(), "t/i1", (NEWS, olds), {**NEWS, "size": 13}, witness())


def test_a_bundle_that_cannot_be_written_hides_nothing() -> None:
    with pytest.raises(
        operations.Unwell, match=r"unlucky; take 14; the debug bundle could not be written: disk full$"
    ):
        operations.create(Kept("disk full"), {**NEWS, "size": 13}, witness())


def test_who_interrupts_gets_no_bundle() -> None:
    seen = witness()
    seen.run.stop.set()
    kind = Kept()
    with pytest.raises(operations.Unwell, match=r"take 14$"):
        operations.create(kind, {**NEWS, "size": 13}, seen)
    assert kind.found == {}
