"""Many streams at once, timed, through each target in turn. For the host itself: standard library only.

Usage: streams.py <JSON (concurrency, tokens, rounds, model, targets: [{name, port, key, authority}])

Prints JSON: name of the target → [seconds to the first token, seconds per token], medians over all streams.
"""

import asyncio
import json
import ssl
import sys
import time
from statistics import median
from typing import Any

HOST = "127.0.0.1"


def main() -> None:
    """Read what is wanted, and print what was measured."""
    wanted = json.load(sys.stdin)
    sys.stdout.write(json.dumps(asyncio.run(measured(wanted))))


async def measured(wanted: dict[str, Any]) -> dict[str, list[float]]:
    """Return the medians of each target; the first round warms up and does not count."""
    taken: dict[str, list[tuple[float, float]]] = {each["name"]: [] for each in wanted["targets"]}
    for number in range(wanted["rounds"] + 1):
        for target in wanted["targets"]:
            streams = await at_once(wanted, target)
            taken[target["name"]] += streams if number else []
    return {name: [median(times) for times in zip(*both)] for name, both in taken.items()}  # noqa: B905 -- Python 3.9


async def at_once(wanted: dict[str, Any], target: dict[str, Any]) -> list[tuple[float, float]]:
    """Open all connections, then send all requests at once."""
    trust = ssl.create_default_context(cadata=target["authority"]) if target["authority"] else None
    lines = [
        await asyncio.open_connection(HOST, target["port"], ssl=trust) for _ in range(wanted["concurrency"])
    ]
    request = asked(wanted, target["key"])
    return await asyncio.gather(*(timed(reader, writer, request) for reader, writer in lines))


async def timed(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes
) -> tuple[float, float]:
    """Send a request; return the seconds to its first token and per token after that."""
    begin = time.perf_counter()
    writer.write(request)
    status = await reader.readline()
    if b" 200 " not in status:
        sys.exit(f"a stream was answered with {status.decode().strip()}")
    came = [time.perf_counter() async for line in reader if line.startswith(b"data: {")]
    writer.close()
    return came[0] - begin, (came[-1] - came[0]) / (len(came) - 1)


def asked(wanted: dict[str, Any], key: str) -> bytes:
    """Return one whole HTTP request for a stream."""
    body = json.dumps(
        {
            "model": wanted["model"],
            "messages": [{"role": "user", "content": "Hello"}],
            "max_tokens": wanted["tokens"],
            "min_tokens": wanted["tokens"],
            "stream": True,
        }
    ).encode()
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body


if __name__ == "__main__":
    main()
