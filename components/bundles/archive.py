"""The archive itself: what is in it, how large it may be, who may read it, how many are kept."""

from __future__ import annotations

import hashlib
import io
import json
import re
import secrets
import tarfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from components.bundles.witness import capped

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from components.hosts.record import HostRecord

ROOT: Final = Path(__file__).resolve().parents[2]
STATE: Final = ROOT / ".state"
KEPT: Final = STATE / "bundles"
MOST_BYTES: Final = 64 << 20
"""Of everything in one archive, before it is packed."""
MOST_OF_A_PART: Final = 8 << 20
MOST_BUNDLES: Final = 10
"""Of one fleet; older ones go."""


def write(
    fleet: str,
    occasion: str,
    hosts: Sequence[HostRecord],
    found: Mapping[str, str],
    clean: Callable[[str], str],
) -> Path:
    """Collect what can be seen and write it into one archive that only its owner can read.

    Hosts that do not answer in time, and what one did not show in time, are named in `missing.txt`.

    Args:
        fleet: Identity of the fleet.
        occasion: What failed or who asks, as one word: `serve`, `completion`, `asked`.
        hosts: Whom to ask.
        found: Name of a file in the archive → text that the caller has already.
        clean: Takes secrets out of a text; everything goes through it.

    Returns:
        The archive, `.state/bundles/<fleet>-<occasion>-<time>-<nonce>.tar.gz` below the checkout.

    Raises:
        OSError: It cannot be written.
    """
    from components.bundles import here, there  # noqa: PLC0415 -- only a failure needs SSH and its libraries

    seen, silent = there.seen(hosts)
    parts = {**here.seen(fleet), **found, **seen}
    kept, left_out = _bounded({name: capped(clean(text), MOST_OF_A_PART) for name, text in parts.items()})
    missing = [clean(each) for each in (*silent, *left_out)]
    kept["missing.txt"] = "\n".join(missing or ["nothing is missing"]) + "\n"
    KEPT.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = KEPT / f"{fleet}-{occasion}-{time.strftime('%Y%m%dT%H%M%S')}-{secrets.token_hex(2)}.tar.gz"
    _pack(path, kept)
    _forget(fleet)
    return path.relative_to(ROOT) if path.is_relative_to(ROOT) else path


def remember_plan(fleet: str, text: str) -> None:
    """Keep the plan of a fleet for its next bundle.

    Args:
        fleet: Identity of the fleet.
        text: The plan as JSON; it holds no secret.
    """
    path = plan_file(fleet)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{secrets.token_hex(3)}")
    part.write_text(text, encoding="utf-8")
    part.rename(path)


def plan_file(fleet: str) -> Path:
    """Return where the last plan of a fleet is kept."""
    return STATE / "plans" / f"{fleet}.json"


def _bounded(parts: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Return the parts that fit, smallest first, and a sentence for each that does not."""
    kept: dict[str, str] = {}
    left_out, size = [], 0
    for name, text in sorted(parts.items(), key=lambda part: len(part[1])):
        size += len(text.encode())
        if size <= MOST_BYTES:
            kept[name] = text
        else:
            left_out.append(f"{name}: left out, a bundle holds at most {MOST_BYTES >> 20} MiB")
    return kept, left_out


def _pack(path: Path, parts: Mapping[str, str]) -> None:
    files = {name: text.encode() for name, text in sorted(parts.items())}
    manifest = {
        name: {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()} for name, data in files.items()
    }
    part = path.with_name(f".{path.name}")
    part.touch(mode=0o600)
    try:
        with tarfile.open(part, "w:gz") as tar:
            for name, data in {"manifest.json": json.dumps(manifest, indent=1).encode(), **files}.items():
                entry = tarfile.TarInfo(f"{path.name.removesuffix('.tar.gz')}/{name}")
                entry.size, entry.mode, entry.mtime = len(data), 0o600, int(time.time())
                tar.addfile(entry, io.BytesIO(data))
        part.rename(path)
    finally:
        part.unlink(missing_ok=True)


def _forget(fleet: str) -> None:
    ours = re.compile(rf"{re.escape(fleet)}-\w+-(?P<when>\d{{8}}T\d{{6}})-\w+\.tar\.gz")
    known = [(match["when"], each) for each in KEPT.iterdir() if (match := ours.fullmatch(each.name))]
    for _, each in sorted(known)[:-MOST_BUNDLES]:
        each.unlink(missing_ok=True)
