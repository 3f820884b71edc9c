"""An engine that is as even as a clock. A program for the host itself: standard library only.

Usage: upstream.py PORT SECONDS-TO-THE-FIRST-TOKEN SECONDS-PER-TOKEN
"""

import asyncio
import json
import sys

HOST = "127.0.0.1"
TOKEN = json.dumps(
    {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": " word"}}]}
)


async def main(port: str, first: str, then: str) -> None:
    """Answer every request with a stream of as many tokens as it asks for."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # As an engine does: whoever does not ask to close comes again on the same connection.
        while await answered(reader, writer, float(first), float(then)):
            pass
        writer.close()

    server = await asyncio.start_server(answer, HOST, int(port), backlog=1024)
    async with server:
        await server.serve_forever()


async def answered(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, first: float, then: float
) -> bool:
    """Answer one request; return whether another may follow on the connection."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    except asyncio.IncompleteReadError:  # whoever held it has closed it
        return False
    length = int(head.split("content-length:")[1].split()[0])
    tokens = json.loads(await reader.readexactly(length))["max_tokens"]
    # On a grid of its own, so that a late token does not delay those after it.
    loop = asyncio.get_running_loop()
    due = loop.time() + first
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
    for _ in range(tokens):
        await asyncio.sleep(due - loop.time())
        due += then
        writer.write(chunk(f"data: {TOKEN}\n\n"))
        await writer.drain()
    writer.write(chunk("data: [DONE]\n\n") + b"0\r\n\r\n")
    await writer.drain()
    return "connection: close" not in head


def chunk(text: str) -> bytes:
    """Return a piece of a chunked body."""
    raw = text.encode()
    return f"{len(raw):x}\r\n".encode() + raw + b"\r\n"


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
