# ruff: noqa: INP001 - a program for the host, not part of a package
"""Bring the gateway to the files that lie on this host, or prove that it works.

Usage: gateway.py apply WANTED
       gateway.py prove WANTED
(JSON: unit, unit_file, user, nginx, folder, record, listen, port, tls, path)

`apply` prints JSON: `did` (start, reload or nothing) and `fault` (a sentence, or empty). It reads from the
world what is needed: from the unit's state, and from the record of which files the running one has read.
`prove` prints JSON: `faults` (sentences) and `certificate` (SHA-256 of the one that is shown, or empty).
"""

import hashlib
import http.client
import json
import os
import re
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

PROPERTIES = ("ActiveState", "InvocationID", "MainPID")
PATIENCE = 15.0
"""Seconds for a start or a reload to show."""
ANSWER = 3.0
"""Seconds for an answer; an engine that takes longer has got the request all the same."""
STEP = 0.05
SHUTTING_DOWN = "is shutting down"
THROUGH = {"", "engine-not-listening", "engine-silent"}
"""What the gateway says of itself where it lets a request through."""

Wanted = Mapping[str, Any]
Facts = Mapping[str, Any]


def main(action: str, wanted: str) -> None:
    """Print the answer."""
    want = json.loads(wanted)
    sys.stdout.write(json.dumps(apply(want) if action == "apply" else prove(want)))


def apply(want: Wanted) -> dict[str, str]:
    """Start the gateway or have it read its files again, if it needs that; say what was done, or failed."""
    state, files = unit_state(want["unit"]), read_files(want)
    do = needed(want, state, known(Path(want["record"])), files)
    if not do:
        return {"did": "", "fault": ""}
    if words := refused(want):
        fault = f"nginx refuses the gateway's files ({words}), and what runs goes on as it was"
        return {"did": "", "fault": f"{fault}: mend what it names, then run again"}
    fault = change(want, do)
    if not fault:
        record = {"invocation": unit_state(want["unit"])["InvocationID"], **files}
        Path(want["record"]).write_text(json.dumps(record), encoding="utf-8")
    return {"did": do, "fault": fault}


def needed(want: Wanted, state: Mapping[str, str], record: Facts, files: Facts) -> str:
    """Return `restart`, `reload` or an empty text."""
    if state["ActiveState"] != "active":
        return "restart"
    # Only a new start brings another unit or another program; everything else nginx takes up as it runs.
    if record and record["unit"] != files["unit"]:
        return "restart"
    if program(state["MainPID"]) != os.path.realpath(want["nginx"]):
        return "restart"
    asis = record.get("invocation") == state["InvocationID"] and record["files"] == files["files"]
    return "" if asis else "reload"


def read_files(want: Wanted) -> dict[str, Any]:
    """Return what tells one version of the files from another, before anybody reads them."""
    folder = Path(want["folder"])
    return {
        "unit": version(Path(want["unit_file"])),
        "files": {path.name: version(path) for path in sorted(folder.iterdir())},
    }


def version(path: Path) -> list[int]:
    """Return size, time of the last change in nanoseconds, and inode."""
    facts = path.stat()
    return [facts.st_size, facts.st_mtime_ns, facts.st_ino]


def known(record: Path) -> dict[str, Any]:
    """Return which files the gateway had read when it was last started or reloaded by us."""
    try:
        found: dict[str, Any] = json.loads(record.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found


def refused(want: Wanted) -> str:
    """Return what nginx has against the files, read as the gateway reads them; empty when it takes them."""
    sandbox = [
        f"User={want['user']}",
        f"Group={want['user']}",
        "PrivateTmp=yes",
        "TemporaryFileSystem=/etc/rackstack:ro",
        f"BindReadOnlyPaths={want['folder']}",
    ]
    private = "/tmp/"  # noqa: S108 -- the unit's own, as it is sandboxed
    test = [want["nginx"], "-t", "-q", "-e", "stderr", "-p", private, "-c", f"{want['folder']}/nginx.conf"]
    start = ["systemd-run", "--quiet", "--pipe", "--wait", "--collect"]
    options = [word for each in sandbox for word in ("-p", each)]
    tried = subprocess.run([*start, *options, "--", *test], capture_output=True, text=True, check=False)
    return "" if tried.returncode == 0 else last_words(want, tried.stderr) or "it said nothing"


def change(want: Wanted, do: str) -> str:
    """Restart or reload the unit and wait until it shows; return a sentence where it does not."""
    before = set(workers(unit_state(want["unit"])["MainPID"]))
    begun = time.time()
    tried = subprocess.run(["systemctl", do, want["unit"]], capture_output=True, text=True, check=False)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and tried.returncode == 0:
        now = set(workers(unit_state(want["unit"])["MainPID"]))
        # The old ones have stopped to listen: from here on nobody is answered by what they had read.
        if now and not now & before:
            return ""
        time.sleep(STEP)
    journal = ["journalctl", "--unit", want["unit"], f"--since=@{begun:.0f}", "--output=cat", "--no-pager"]
    said = subprocess.run(journal, capture_output=True, text=True, check=False).stdout
    words = last_words(want, said) or last_words(want, tried.stderr) or "it said nothing"
    return f"{want['unit']} did not {do} within {PATIENCE:.0f} s ({words}): mend that, then run again"


def last_words(want: Wanted, text: str) -> str:
    """Return nginx's first complaint, else the last line; no secret of the gateway's files is in it."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    complaints = [line for line in lines if "[emerg]" in line]
    words = (complaints or lines[-1:] or [""])[0]
    for secret in secrets(want):
        words = words.replace(secret, "[secret]")
    return re.sub(r"^.*\[emerg\] (\d+#\d+: )?", "", words)


def secrets(want: Wanted) -> Iterator[str]:
    """Yield the keys as they are, and as they are written for nginx."""
    for key in bearers(want):
        yield key
        yield key.replace("[.]", ".").replace("[+]", "+")


def bearers(want: Wanted) -> list[str]:
    """Return the keys as they are written for nginx: those of clients, and the engine's."""
    try:
        text = Path(want["folder"], "keys.conf").read_text(encoding="utf-8")
    except OSError:
        return []
    return re.findall(r'"(?:~\^)?Bearer ([^"$]+)', text)


def unit_state(unit: str) -> dict[str, str]:
    """Return the unit's properties; an absent unit is inactive."""
    question = ["systemctl", "show", unit, f"--property={','.join(PROPERTIES)}"]
    answer = subprocess.run(question, capture_output=True, text=True, check=True).stdout
    return dict.fromkeys(PROPERTIES, "") | dict(line.split("=", 1) for line in answer.splitlines())


def program(pid: str) -> str:
    """Return the file that a process runs; another path where that was replaced."""
    try:
        return str(Path(f"/proc/{pid}/exe").readlink())
    except OSError:
        return ""


def workers(master: str) -> Iterator[str]:
    """Yield the processes below nginx's first one that listen."""
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        try:
            parent = process.joinpath("stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1]
            title = process.joinpath("cmdline").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        if parent == master and "worker process" in title and SHUTTING_DOWN not in title:
            yield process.name


def prove(want: Wanted) -> dict[str, Any]:
    """Ask the gateway as a client would."""
    given = own_certificate(want) if want["tls"] else ""
    return {"faults": list(faults(want, given)), "certificate": given}


def faults(want: Wanted, given: str) -> Iterator[str]:
    """Yield a sentence for everything that a client would find wrong."""
    for address in want["listen"]:
        try:
            shown = shown_certificate(address, want)
        except OSError as error:
            yield f"nothing answers at {address} port {want['port']} ({error})"
            continue
        if shown != given:
            yield f"at {address} port {want['port']} it shows another certificate than the planned one"
    if (found := ask(want, None))[1] != "no-key":
        yield f"a request without a key was answered with {found[0]} {found[1]}".rstrip()
    for key in bearers(want)[:-1]:
        status, word = ask(want, key.replace("[.]", ".").replace("[+]", "+"))
        if word not in THROUGH:
            yield f"a request with a key was answered with {status} {word}"
        if not status:
            break


def own_certificate(want: Wanted) -> str:
    """Return the SHA-256 of the first certificate of the file."""
    text = Path(want["folder"], "tls.crt").read_text(encoding="utf-8")
    end = "-----END CERTIFICATE-----"
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(text[: text.index(end) + len(end)].strip())).hexdigest()


def shown_certificate(address: str, want: Wanted) -> str:
    """Return the SHA-256 of the certificate that is shown there, empty without TLS."""
    with socket.create_connection((address, want["port"]), timeout=ANSWER) as plain:
        if not want["tls"]:
            return ""
        with unjudged().wrap_socket(plain) as wrapped:
            return hashlib.sha256(wrapped.getpeercert(binary_form=True) or b"").hexdigest()


def ask(want: Wanted, key: str | None) -> tuple[int, str]:
    """Return status and the gateway's word for a request from here; 0 where the engine is silent."""
    host, port = "127.0.0.1", want["port"]
    if want["tls"]:
        link: http.client.HTTPConnection = http.client.HTTPSConnection(
            host, port, timeout=ANSWER, context=unjudged()
        )
    else:
        link = http.client.HTTPConnection(host, port, timeout=ANSWER)
    try:
        link.request("GET", want["path"], headers={"Authorization": f"Bearer {key}"} if key else {})
        answer = link.getresponse()
    except TimeoutError:
        return 0, ""
    except OSError as error:
        return 0, f"({error})"
    finally:
        link.close()
    return answer.status, answer.headers.get("X-Rackstack-Gateway", "")


def unjudged() -> ssl.SSLContext:
    """Return a context that takes any certificate: which one it is gets compared."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


if __name__ == "__main__":
    main(*sys.argv[1:])
