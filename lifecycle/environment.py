"""The environment in which `pulumi` works on this checkout."""

import os
import secrets
import shutil
from pathlib import Path

from stacks.errors import Refusal

CHECKOUT = Path(__file__).resolve().parents[1]
STATE = CHECKOUT / ".state"
PROJECT = "rackstack"


def environment(engine: Path | None = None) -> dict[str, str]:
    """Return the environment in which `pulumi` works on this checkout.

    What the person has set wins: PULUMI_BACKEND_URL and the passphrase. Otherwise
    both lie in `.state`.

    Args:
        engine: Folder of the Pulumi engine; that on PATH where None.

    Raises:
        Refusal: There is no Pulumi engine.
    """
    STATE.mkdir(exist_ok=True)
    chosen = dict(os.environ)
    chosen.pop("PYTHONPATH", None)
    folders = [CHECKOUT / ".venv/bin", *([engine] if engine else [])]
    chosen["PATH"] = ":".join([*map(str, folders), chosen.get("PATH", os.defpath)])
    if shutil.which("pulumi", path=chosen["PATH"]) is None:
        raise Refusal(
            "there is no `pulumi` on PATH: `make recover`, `make bundle` and `make sweep` know where it is; "
            'or PATH="$(.venv/bin/python -m tools.bootstrap --print-path):$PATH"'
        )
    chosen["PULUMI_SKIP_UPDATE_CHECK"] = "1"
    # The SDK of pulumi-kubernetes is installed, and nothing uses its plugin yet: without this, every
    # command tries to download it.
    chosen["PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION"] = "true"
    if "PULUMI_BACKEND_URL" not in chosen:
        (STATE / "backend").mkdir(exist_ok=True)
        chosen["PULUMI_BACKEND_URL"] = f"file://{STATE / 'backend'}"
    if not {"PULUMI_CONFIG_PASSPHRASE", "PULUMI_CONFIG_PASSPHRASE_FILE"} & set(chosen):
        chosen["PULUMI_CONFIG_PASSPHRASE_FILE"] = str(_passphrase())
    return chosen


def passphrase_file() -> Path:
    """Return where the passphrase of this checkout lies if the person has set none."""
    return STATE / "passphrase"


def _passphrase() -> Path:
    path = passphrase_file()
    if not path.exists():
        part = path.with_name(f".passphrase.{os.getpid()}")
        part.touch(mode=0o600)
        part.write_text(secrets.token_urlsafe(32))
        part.rename(path)
    return path
