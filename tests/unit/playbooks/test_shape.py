"""The shape that all playbooks and roles share."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.playbooks.files import PLAYBOOKS, ROLES

PHASES = ("preflight", "install", "configure", "run", "verify")
TASK_FILES = sorted(PLAYBOOKS.glob("roles/*/tasks/*.yml"))


def parsed(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def name(path: Path) -> str:
    return path.relative_to(PLAYBOOKS).as_posix()


def tasks(node: Any) -> list[dict[str, Any]]:
    """Return all tasks of a list, those in blocks too."""
    found = []
    for task in node:
        found.append(task)
        for part in ("block", "rescue", "always"):
            found += tasks(task.get(part, []))
    return found


def call(task: dict[str, Any]) -> dict[str, str]:
    """Return which role a task calls, and how; empty where it calls none."""
    called: dict[str, str] = task.get("ansible.builtin.import_role") or task.get(
        "ansible.builtin.include_role", {}
    )
    return called


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_argument_specs_say_the_defaults(role: Path) -> None:
    defaults = role / "defaults/main.yml"
    specs = parsed(role / "meta/argument_specs.yml")["argument_specs"]
    options: dict[str, Any] = {}
    for spec in specs.values():
        options |= spec.get("options", {})
    said = {option: facts["default"] for option, facts in options.items() if "default" in facts}
    assert said == (parsed(defaults) if defaults.exists() else {})
    assert all(facts.get("required", False) != ("default" in facts) for facts in options.values())
    assert all(facts["description"] for facts in options.values())


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_every_way_into_a_role_has_its_argument_spec(role: Path) -> None:
    called = {
        call(task).get("tasks_from", "main")
        for task in [
            *(task for playbook in PLAYBOOKS.glob("*.yml") for task in tasks(parsed(playbook)[0]["tasks"])),
            *(task for path in TASK_FILES for task in tasks(parsed(path))),
        ]
        if call(task).get("name") == role.name
    }
    assert called <= set(parsed(role / "meta/argument_specs.yml")["argument_specs"])


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_a_role_has_all_phases_in_order_or_says_why_not(role: Path) -> None:
    main = (role / "tasks/main.yml").read_text(encoding="utf-8")
    if "# No phases: " in main:
        return
    named = [task["name"] for task in yaml.safe_load(main)]
    for phase in PHASES:
        assert (phase.capitalize() in named) != (f"# No {phase}: " in main), phase
    order = [phase.capitalize() for phase in PHASES if phase.capitalize() in named]
    assert named == order or "comes first, because" in main


@pytest.mark.parametrize("path", TASK_FILES, ids=name)
def test_a_task_file_is_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 70


@pytest.mark.parametrize("path", TASK_FILES, ids=name)
def test_a_refusal_names_the_host_and_is_one_sentence(path: Path) -> None:
    for task in tasks(parsed(path)):
        for module, key in (("assert", "fail_msg"), ("fail", "msg")):
            if refusal := task.get(f"ansible.builtin.{module}"):
                message = refusal[key]
                assert message.startswith("{{ inventory_hostname }}: ")
                assert "\n" not in message
                assert not message.endswith(".")


def test_every_playbook_has_its_way_back() -> None:
    playbooks = {path.stem for path in PLAYBOOKS.glob("*.yml")}
    forth = {stem for stem in playbooks if not stem.endswith(".undo")}
    assert forth == {"prepare", "engine", "checkpoint", "access", "serve"}
    assert playbooks - forth == {f"{stem}.undo" for stem in forth}


@pytest.mark.parametrize("path", sorted(PLAYBOOKS.glob("*.yml")), ids=name)
def test_a_playbook_works_on_the_whole_fleet_under_its_lock(path: Path) -> None:
    (play,) = parsed(path)
    (work,) = play["tasks"]
    first, *_, last = [call(task)["name"] for task in work["block"]]
    (release,) = work["always"]
    locks = {work["block"][0]["vars"]["lock_name"], release["vars"]["lock_name"]}
    assert (play["hosts"], play["any_errors_fatal"], play["gather_facts"]) == ("fleet", True, False)
    assert (first, last) == ("lock", "marker")
    assert release["ansible.builtin.import_role"] == {"name": "lock", "tasks_from": "release"}
    assert locks == {path.stem.removesuffix(".undo")}


@pytest.mark.parametrize("path", TASK_FILES, ids=name)
def test_tasks_use_builtin_modules_only(path: Path) -> None:
    for task in tasks(parsed(path)):
        modules = {key for key in task if "." in key}
        assert modules or "block" in task
        assert all(module.startswith("ansible.builtin.") for module in modules)
