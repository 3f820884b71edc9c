"""Whether the GPUs are well: the driver's own counters, this boot's Xids, and a diagnostic run. Pure."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from components.readiness.gates.refused import Check, Refused
from components.readiness.gates.sight import NotUnderstood

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from components.readiness.gates.sight import KernelLog, Said
    from components.readiness.gates.smi import Smi

_XIDS: Final = "https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html"
_DCGM: Final = (
    "https://docs.nvidia.com/datacenter/dcgm/latest/reference/command-line-reference/dcgmi/dcgmi-diag.html"
)

COUNTERS: Final = Check(
    "health-counters",
    (
        "no recovery due, no uncorrectable error since the driver was loaded, no repair or row remapping "
        "pending"
    ),
    (
        (
            "a row waits to be remapped: NVIDIA lets new work run on it, here it is reset before a load that "
            "takes long; `nvidia-smi -r`, on NVLink systems reboot, then run `up` again"
        ),
        "memory errors go on after that: run `dcgmi diag -r 3`, have the GPU replaced",
        "gpu_recovery_action says Reboot or Drain: do that before anything else",
    ),
    "https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/error-recovery-and-response-flags.html",
)
KERNEL: Final = Check(
    "health-kernel-log-read",
    "a kernel log since the boot, Xid and SXid in their documented form",
    (
        "the journal of this boot cannot be read: `journalctl -k -b`",
        (
            "journald keeps no lines of the kernel (ReadKMsg=no, Storage=none, a small SystemMaxUse= or "
            "RuntimeMaxUse=): correct journald.conf, reboot the host"
        ),
        "a driver of a later form: file it with the line, nothing is taken for right that is not known",
    ),
    f"{_XIDS}; https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/contents.html (SXid)",
)
XID: Final = Check(
    "health-no-xid",
    "no Xid since the boot but those of applications (13, 31, 43, 45, 68, 109), and no fatal SXid",
    (
        (
            "hardware: look the number up in the Xid catalog, do what its first column of actions says "
            "(reset, reboot, power-cycle)"
        ),
        "it was mended, but this boot's log still holds it: reboot the host",
        "it comes again after a reboot: have GPU or tray replaced",
    ),
    f"{_XIDS}; application errors: github.com/NVIDIA/k8s-device-plugin, internal/rm/health.go",
)
DIAG_UNREAD: Final = Check(
    "health-diag-answers",
    "an answer of `dcgmi diag -r 2 -j` in the form of DCGM 4",
    (
        "nvidia-dcgm does not run: `journalctl -u nvidia-dcgm`, run `up` again, the role dcgm starts it",
        "another process held a GPU during the run: see memory-free",
        (
            "a DCGM of another form than 4.x: file it with the output, nothing is taken for right that is "
            "not known"
        ),
    ),
    f"{_DCGM}; github.com/NVIDIA/DCGM 4.6.0, testing/python3/dcgm_diag_schema.json",
)
DIAG: Final = Check(
    "health-diag",
    "Pass, or Skip where a test is not for this GPU, in every test, and one Pass at least",
    (
        "the warning that the test prints names the cause: do what it says, then run `up` again",
        "a GPU or its memory is failing: run `dcgmi diag -r 3`, have it replaced",
    ),
    f"{_DCGM}; https://docs.nvidia.com/datacenter/dcgm/latest/reference/diagnostics/errors.html",
)

CHECKS: Final = (COUNTERS, KERNEL, XID, DIAG_UNREAD, DIAG)

_WELL: Final[Mapping[str, str]] = {
    "gpu_recovery_action": "None",
    "ecc_errors/volatile/sram_uncorrectable_parity": "0",
    "ecc_errors/volatile/sram_uncorrectable_secded": "0",
    "ecc_errors/volatile/dram_uncorrectable": "0",
    "ecc_errors/aggregate/sram_threshold_exceeded": "No",
    "ecc_errors/channel_repair_pending": "No",
    "ecc_errors/tpc_repair_pending": "No",
    "ecc_errors/unrepairable_memory": "No",
    "remapped_rows/remapped_row_pending": "No",
    "remapped_rows/remapped_row_failure": "No",
}
APPLICATION_XIDS: Final = frozenset({13, 31, 43, 45, 68, 109})
_XID: Final = re.compile(r"NVRM: Xid \((?P<where>PCI:[0-9a-fA-F:.]+)\): (?P<code>\d+)")
_SXID: Final = re.compile(
    r"SXid \((?P<where>PCI:[0-9a-fA-F:.]+)\): (?P<code>\d+), (?P<kind>Fatal|Non-fatal|Severity|Data)"
)
_STATUSES: Final = frozenset({"Pass", "Skip", "Warn", "Fail", "Not Run"})
_FINE: Final = frozenset({"Pass", "Skip"})


@dataclass(frozen=True)
class Xid:
    """One error that the driver logged.

    Attributes:
        code: Its number.
        where: PCI address.
        switch: Whether an NVSwitch had it (SXid), fatally.
    """

    code: int
    where: str
    switch: bool


@dataclass(frozen=True)
class Test:
    """One test of a diagnostic run.

    Attributes:
        name: Its name.
        status: Pass, Skip, Warn, Fail or Not Run.
        warnings: What it said.
    """

    name: str
    status: str
    warnings: tuple[str, ...]


def xids(said: KernelLog) -> tuple[Xid, ...]:
    """Return what this boot's kernel log says of GPUs and switches that matters.

    Args:
        said: The lines that name an Xid or an SXid; none is a good answer of a log that has others.

    Raises:
        NotUnderstood: The log could not be read, has no line at all, or one of no known form.
    """
    if said.code:
        raise NotUnderstood(f"could not be read: exit status {said.code}, {said.words!r}")
    if not said.lines:
        raise NotUnderstood("has no line since the boot, which proves nothing")
    found = (_xid(line) for line in said.out.splitlines() if line.strip())
    return tuple(xid for xid in found if xid is not None)


def diagnosed(said: Said) -> tuple[Test, ...]:
    """Return the tests of a diagnostic run.

    Raises:
        NotUnderstood: It did not run, or its form is not that of DCGM 4.
    """
    try:
        found = json.loads(said.out)["DCGM Diagnostic"]
        error = found.get("runtime_error")
        tests = tuple(
            _test(test) for category in found.get("test_categories", ()) for test in category["tests"]
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        said.text()
        raise NotUnderstood("printed no JSON with DCGM Diagnostic and test_categories of tests") from None
    if error or not tests:
        raise NotUnderstood(f"ran no test: {error or said.words}")
    if unknown := sorted({test.status for test in tests} - _STATUSES):
        raise NotUnderstood(f"gave a test the unknown status {', '.join(map(repr, unknown))}")
    if said.code and all(test.status in _FINE for test in tests):
        raise NotUnderstood(f"ended with exit status {said.code} although no test failed")
    return tests


def counters(seen: Mapping[str, Smi]) -> Iterator[Refused]:
    """Yield every GPU whose own counters are not well.

    Args:
        seen: Host name → what `nvidia-smi` says there.
    """
    for host, smi in seen.items():
        for gpu in smi.gpus:
            said = [
                f"{path.rpartition('/')[2]} {word}"
                for path, word in gpu.health.items()
                if word != _WELL[path]
            ]
            if said:
                yield Refused(COUNTERS, (host,), f"GPU {gpu.index} ({gpu.bus}) says {', '.join(said)}")


def logged(seen: Mapping[str, Sequence[Xid]]) -> Iterator[Refused]:
    """Yield every host whose driver logged an error that is not an application's.

    Args:
        seen: Host name → what was logged since the boot.
    """
    for host, found in seen.items():
        said = dict.fromkeys(_told(xid) for xid in found if xid.switch or xid.code not in APPLICATION_XIDS)
        if said:
            yield Refused(XID, (host,), f"this boot's kernel log has {', '.join(said)}")


def tested(seen: Mapping[str, Sequence[Test]]) -> Iterator[Refused]:
    """Yield every host whose diagnostic run found something, or proved nothing.

    Args:
        seen: Host name → the tests of its run.
    """
    for host, tests in seen.items():
        for test in tests:
            if test.status not in _FINE:
                said = f": {'; '.join(test.warnings)}" if test.warnings else ""
                yield Refused(DIAG, (host,), f"the test {test.name} came to {test.status}{said}")
        if not any(test.status == "Pass" for test in tests):
            yield Refused(DIAG, (host,), "no test passed")


def _told(xid: Xid) -> str:
    return f"{'fatal SXid' if xid.switch else 'Xid'} {xid.code} at {xid.where}"


def _xid(line: str) -> Xid | None:
    """Return the error in a line; None for a switch's that is not fatal, or only says more of one."""
    if match := _XID.search(line):
        return Xid(int(match["code"]), match["where"], switch=False)
    if match := _SXID.search(line):
        return Xid(int(match["code"]), match["where"], switch=True) if match["kind"] == "Fatal" else None
    raise NotUnderstood(f"has a line of no known form: {line.strip()[:160]!r}")


def _test(found: Mapping[str, Any]) -> Test:
    results = [found["test_summary"], *found.get("results", ())] if "test_summary" in found else []
    statuses = [str(result["status"]) for result in results] or ["Not Run"]
    bad = [status for status in statuses if status not in _FINE]
    warnings = (str(each["warning"]).rstrip(".") for result in results for each in result.get("warnings", ()))
    return Test(str(found["name"]), (bad or statuses)[0], tuple(dict.fromkeys(warnings)))
