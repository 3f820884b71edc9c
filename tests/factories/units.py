"""Units as systemd shows them."""

HEALTHY = {
    "LoadState": "loaded",
    "ActiveState": "active",
    "SubState": "running",
    "Result": "success",
    "ExecMainCode": "0",
    "ExecMainStatus": "0",
    "NRestarts": "0",
    "InvocationID": "7d3f",
    "ExecMainExitTimestamp": "n/a",
}


def shown(**changed: str) -> str:
    """Return what `systemctl show` prints of a running unit, but for what is changed."""
    return "".join(f"{name}={value}\n" for name, value in (HEALTHY | changed).items())
