"""The resource kind `rack:hosts:Playbook`: one playbook, carried out on all hosts of a fleet."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field, SecretStr

from components.hosts import markers
from components.hosts.leaving import leaving
from components.hosts.record import HostRecord  # noqa: TC001 -- pydantic reads it at run time
from components.plugin.kind import Inputs, Kind, Outputs, Seen, new_incarnation
from stacks.errors import EffectError, Incomplete, Refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from components.hosts.events import RunVerdict
    from components.hosts.ssh import Answer
    from components.plugin.kind import Drift, Run

PLAYBOOKS = Path(__file__).resolve().parents[2] / "playbooks"
LOOK_SECONDS = 15.0
LAST_UNDONE = "prepare"
_TIDY = "rmdir ~/.ansible/tmp ~/.ansible 2>/dev/null"
"""Remove what Ansible has left empty in the home of the user who logs in; what is not empty stays."""


class PlaybookInputs(Inputs):
    """What a playbook is run with.

    Attributes:
        fleet: Identity of the fleet.
        playbook: Name of the playbook; `NAME.yml` brings it about, `NAME.undo.yml` is the way back.
        hosts: Who takes part, in rank order.
        variables: Variables of the whole fleet.
        host_variables: Host name → its own variables.
        secrets: Variables that lie in no inventory, argument or artefact.
        roles: Role → digest of its files.
        after: What the host state builds on, as nonces: a change there needs a new run here.
        tells: Whether somebody uses what its roles tell of each host, which takes one more look at all.
    """

    fleet: str
    playbook: str
    hosts: list[HostRecord] = Field(min_length=1)
    variables: dict[str, Any]
    host_variables: dict[str, dict[str, Any]]
    secrets: dict[str, SecretStr]
    roles: dict[str, str]
    after: list[str]
    tells: bool = False


class PlaybookOutputs(Outputs):
    """What a playbook returns.

    Attributes:
        run: Nonce of the last good run, `incarnation.nonce`; the markers on the hosts hold it too.
        facts: Host name → what the roles told of it in that run, where its inputs ask for that; none of a
            host that did not answer then.
    """

    run: str
    facts: dict[str, dict[str, Any]]


class Playbook(Kind[PlaybookInputs, PlaybookOutputs]):
    """Host state that Ansible brings about; looking at it later needs no Ansible."""

    token = "rack:hosts:Playbook"  # noqa: S105 -- a type token, not a secret
    inputs = PlaybookInputs
    outputs = PlaybookOutputs

    def identity(self, inputs: PlaybookInputs) -> str:
        """Return fleet and playbook."""
        return f"{inputs.fleet}-{inputs.playbook}"

    def faults(self, inputs: PlaybookInputs) -> Sequence[str]:
        """Refuse a playbook that is not there, and host names that no or two hosts have."""
        names = [host.name for host in inputs.hosts]
        missing = [
            name for name in (f"{inputs.playbook}.yml", f"{inputs.playbook}.undo.yml") if not _file(name)
        ]
        return [
            *(f"playbook: there is no {name} in {PLAYBOOKS}; name one that is there" for name in missing),
            *(f"hosts: {name} is there twice; every host needs its own name" for name in _repeated(names)),
            *(
                f"host_variables: no host is called {name}; the hosts are {', '.join(names)}"
                for name in inputs.host_variables
                if name not in names
            ),
        ]

    def create(self, inputs: PlaybookInputs, run: Run) -> PlaybookOutputs:
        """Run the playbook on all hosts; what an earlier run left is adopted by the roles."""
        incarnation = new_incarnation()
        made = PlaybookOutputs(incarnation=incarnation, run=_new_run(incarnation), facts={})
        return _perform(inputs, made, run)

    def read(self, inputs: PlaybookInputs, outputs: PlaybookOutputs, run: Run) -> Seen[PlaybookOutputs]:
        """Compare what one look per host shows with what the last good run left."""
        del run
        expected = {host.name: _expected(inputs, outputs, host) for host in inputs.hosts}
        drift: Drift = {}
        for name, answer in _look(inputs.hosts, inputs.fleet).items():
            found = (
                {"host": str(answer)}
                if isinstance(answer, EffectError)
                else markers.drift(answer.out, answer.err, expected[name])
            )
            if found:
                drift[name] = found
        return Seen(outputs, drift)

    def update(
        self, old: PlaybookInputs, new: PlaybookInputs, outputs: PlaybookOutputs, run: Run
    ) -> PlaybookOutputs:
        """Undo the hosts that leave, then run the playbook on all that stay or come."""
        _undo(old, outputs, leaving(old.hosts, new.hosts), run)
        made = outputs.model_copy(update={"run": _new_run(outputs.incarnation), "facts": {}})
        return _perform(new, made, run)

    def delete(self, inputs: PlaybookInputs, outputs: PlaybookOutputs, run: Run) -> None:
        """Undo the playbook on every host that answers and still is in the state of this incarnation."""
        _undo(inputs, outputs, inputs.hosts, run)

    def bundle(self, inputs: PlaybookInputs, found: Mapping[str, str], clean: Callable[[str], str]) -> Path:
        """Keep what all hosts show."""
        from components import bundles  # noqa: PLC0415 -- only a failure needs it

        return bundles.write(inputs.fleet, inputs.playbook, inputs.hosts, found, clean)


def _perform(inputs: PlaybookInputs, made: PlaybookOutputs, run: Run) -> PlaybookOutputs:
    """Run the playbook itself, and return what it made with what the roles told.

    Raises:
        Refusal: No task was started anywhere.
        Incomplete: The run began and failed; `made` stays in state. Its nonce is on no host, so the next look
            shows the failure as drift: the engine forgets a failed update as soon as it has refreshed.
    """
    _require_ready(inputs.hosts, run)
    verdict = _carry_out(inputs, f"{inputs.playbook}.yml", inputs.hosts, made.run, run)
    if verdict.ok:
        return made.model_copy(update={"facts": _told(inputs)}) if inputs.tells else made
    if not verdict.began:
        raise Refusal("; ".join(verdict.failures))
    raise Incomplete(verdict.failures, made)


def _told(inputs: PlaybookInputs) -> dict[str, dict[str, Any]]:
    """Return host name → what the roles told of it, as its marker has it."""
    command = markers.marker_command(inputs.fleet, inputs.playbook)
    answers = _ask(inputs.hosts, {host.name: command for host in inputs.hosts})
    found = {
        name: markers.marker(answer.out)
        for name, answer in answers.items()
        if not isinstance(answer, EffectError)
    }
    return {name: dict(marker.facts) for name, marker in found.items() if marker}


def _undo(inputs: PlaybookInputs, outputs: PlaybookOutputs, hosts: Sequence[HostRecord], run: Run) -> None:
    """Take the way back on those of the hosts that answer and are ours; name the others."""
    commands = {host.name: markers.marker_command(inputs.fleet, inputs.playbook) for host in hosts}
    ours = []
    for host, answer in zip(hosts, _ask(hosts, commands).values(), strict=True):
        if isinstance(answer, EffectError):
            run.warn(f"playbook {inputs.playbook} was not undone there: {answer}")
        elif holder := markers.holder(answer.out, host.incarnation):
            run.note(f"host {host.name} is left alone: {holder} holds it by now")
        elif _is_ours(answer, outputs):
            ours.append(host)
        else:
            run.note(
                f"host {host.name} is left alone: a newer fleet {inputs.fleet} set {inputs.playbook} up there"
            )
    if ours:
        _go_back(inputs, ours, outputs.incarnation, run)


def take_back(fleet: str, hosts: Sequence[HostRecord], run: Run) -> None:
    """Take back all that a fleet set up on hosts, whatever it was; checkpoints stay.

    Raises:
        Refusal: It was not, or not wholly.
    """
    inputs = PlaybookInputs(
        fleet=fleet,
        playbook="prepare",
        hosts=list(hosts),
        variables={"prepare_keep_checkpoints": True},
        host_variables={},
        secrets={},
        roles={},
        after=[],
    )
    _go_back(inputs, hosts, new_incarnation(), run)


def _go_back(inputs: PlaybookInputs, hosts: Sequence[HostRecord], incarnation: str, run: Run) -> None:
    from components.hosts import ssh  # noqa: PLC0415 -- brings paramiko, which only a look needs

    verdict = _carry_out(inputs, f"{inputs.playbook}.undo.yml", hosts, _new_run(incarnation), run)
    if not verdict.ok:
        raise Refusal("; ".join(verdict.failures))
    if inputs.playbook == LAST_UNDONE:
        _of_each(hosts, lambda host: ssh.run(host, _TIDY, deadline=LOOK_SECONDS, root=False))


def _is_ours(answer: Answer, outputs: PlaybookOutputs) -> bool:
    """Say whether the marker is of this incarnation; where there is none, a run of ours was broken off."""
    found = markers.marker(answer.out)
    return found is None or found.run.startswith(f"{outputs.incarnation}.")


def _require_ready(hosts: Sequence[HostRecord], run: Run) -> None:
    if run.stop.is_set():
        raise Refusal("stopped before anything was done; run the command again to go on")
    if shutil.which("ssh") is None:
        raise Refusal("there is no `ssh` on PATH, and Ansible needs it: install the OpenSSH client")
    faults = {}
    commands = {host.name: markers.lease_command() for host in hosts}
    for host, answer in zip(hosts, _ask(hosts, commands).values(), strict=True):
        if isinstance(answer, EffectError):
            faults[host.name] = str(answer)
        elif holder := markers.holder(answer.out, host.incarnation):
            faults[host.name] = (
                f"host {host.name} is not ours any more, {holder} holds it: `pulumi up --refresh` says more"
            )
        elif answer.code:
            faults[host.name] = (
                f"host {host.name} refuses root to {host.user} ({answer.err.strip()}); "
                "log in as root or allow the user sudo without a password"
            )
    if faults:
        raise Refusal("; ".join(_together(faults)))


def _together(faults: Mapping[str, str]) -> list[str]:
    """Return the sentence of each host; what is said of the same jump host is said once, of all behind it."""
    groups: dict[str, list[str]] = {}
    for name, fault in faults.items():
        rest = fault.removeprefix(f"host {name}: ")
        groups.setdefault(rest, []).extend([name] * (rest != fault))
    return [
        f"host{'s' * (len(names) > 1)} {', '.join(names)}: {rest}" if names else rest
        for rest, names in groups.items()
    ]


def run_variables(inputs: PlaybookInputs, nonce: str) -> dict[str, Any]:
    """Return the variables that tell the roles whose run this is and what to write into the marker."""
    return {
        "rackstack_fleet": inputs.fleet,
        "rackstack_owner": nonce,
        "marker_playbook": inputs.playbook,
        "marker_run": nonce,
        "marker_roles": inputs.roles,
    }


def _carry_out(
    inputs: PlaybookInputs, file: str, hosts: Sequence[HostRecord], nonce: str, run: Run
) -> RunVerdict:
    from components.hosts.runs import Order, carry_out  # noqa: PLC0415 -- only a real run needs it

    order = Order(
        fleet=inputs.fleet,
        path=PLAYBOOKS / file,
        hosts=hosts,
        variables=inputs.variables | run_variables(inputs, nonce),
        host_variables=inputs.host_variables,
        secrets={name: secret.get_secret_value() for name, secret in inputs.secrets.items()},
    )
    return carry_out(order, run)


def _ask(hosts: Sequence[HostRecord], commands: Mapping[str, str]) -> dict[str, Answer | EffectError]:
    """Run one command on each host."""
    from components.hosts import ssh  # noqa: PLC0415 -- brings paramiko, which only a look needs

    return _of_each(hosts, lambda host: ssh.run(host, commands[host.name], deadline=LOOK_SECONDS))


def _look(hosts: Sequence[HostRecord], fleet: str) -> dict[str, Answer | EffectError]:
    """Look at each host."""
    from components.hosts import looking  # noqa: PLC0415 -- brings paramiko, which only a look needs

    return _of_each(hosts, lambda host: looking.look(host, fleet, LOOK_SECONDS))


def _of_each(
    hosts: Sequence[HostRecord], ask: Callable[[HostRecord], Answer]
) -> dict[str, Answer | EffectError]:
    """Ask all hosts at the same time; what one host does not answer holds nobody up."""
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 -- keeps the import of the kind cheap

    def answer(host: HostRecord) -> Answer | EffectError:
        try:
            return ask(host)
        except EffectError as error:
            return error

    if not hosts:
        return {}
    with ThreadPoolExecutor(len(hosts)) as pool:
        return dict(zip([host.name for host in hosts], pool.map(answer, hosts), strict=True))


def _expected(inputs: PlaybookInputs, outputs: PlaybookOutputs, host: HostRecord) -> markers.Expected:
    variables = inputs.variables | inputs.host_variables.get(host.name, {})
    return markers.Expected(inputs.playbook, outputs.run, inputs.roles, variables)


def _new_run(incarnation: str) -> str:
    return f"{incarnation}.{new_incarnation()}"


def _file(name: str) -> bool:
    return (PLAYBOOKS / name).is_file()


def _repeated(names: Iterable[str]) -> list[str]:
    seen = list(names)
    return sorted({name for name in seen if seen.count(name) > 1})
