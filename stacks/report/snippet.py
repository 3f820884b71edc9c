"""A client of the planned model, ready to run."""

import json
from collections.abc import Iterator

from stacks.planning import FleetPlan
from stacks.report.reached import addresses

_OPENAI = ("temperature", "top_p", "presence_penalty", "frequency_penalty", "seed")
"""Settings that the OpenAI client knows by name; the engine takes the others from `extra_body`."""


def entrance(plan: FleetPlan) -> str | None:
    """Return the base URL of the API at the gateway; its machine's name where that is not listed yet.

    None where only a router can share requests out.
    """
    several = sum(rank.serves for rank in plan.ranks) > 1
    return None if several else plan.access.url(addresses(plan).get(plan.access.host, plan.access.host))


def snippet(plan: FleetPlan, endpoint: str | None) -> str:
    """Return a Python program that asks the model one question; it reads the key from OPENAI_API_KEY.

    Where the stack has its own CA, the program needs SSL_CERT_FILE in its environment, and says so.

    Args:
        plan: The fleet.
        endpoint: Base URL of the API, which ends in `/v1`; None: that of a router, read from OPENAI_BASE_URL.
    """
    lines = (
        "from openai import OpenAI",
        "",
        *_surroundings(plan),
        *_client(endpoint, plan.endpoint.timeout),
        "answer = client.chat.completions.create(",
        *(f"    {argument}," for argument in _arguments(plan)),
        ")",
        *_reading(plan),
        "",
    )
    return "\n".join(lines)


def _surroundings(plan: FleetPlan) -> Iterator[str]:
    access = plan.access
    yield "# The key is read from the variable OPENAI_API_KEY."
    if access.tls == "own-ca":
        yield "# SSL_CERT_FILE names the file with the stack's own CA:"
        yield f"# pulumi stack output caCertificate -s {plan.stack} >ca.pem; export SSL_CERT_FILE=$PWD/ca.pem"
    if access.private:
        yield "# The gateway is private: the `ssh -N -L` line of the output `reach` must be running."


def _client(endpoint: str | None, timeout: int) -> Iterator[str]:
    if endpoint is None:
        yield "# The router's address, with /v1 at its end, is read from OPENAI_BASE_URL."
        yield f"client = OpenAI(timeout={timeout})"
    else:
        yield f"client = OpenAI(base_url={_text(endpoint)}, timeout={timeout})"


def _arguments(plan: FleetPlan) -> Iterator[str]:
    known = plan.endpoint
    yield f"model={_text(plan.served_name)}"
    yield 'messages=[{"role": "user", "content": "Name three primes above 100."}]'
    yield f"max_tokens={known.max_tokens}"
    if known.efforts and known.efforts != "unknown":
        yield f"reasoning_effort={_text(known.efforts[0])}"
    yield from (f"{name}={value}" for name, value in known.sampling.items() if name in _OPENAI)
    if others := {name: value for name, value in known.sampling.items() if name not in _OPENAI}:
        yield f"extra_body={json.dumps(others)}"


def _reading(plan: FleetPlan) -> Iterator[str]:
    known = plan.endpoint
    yield "message = answer.choices[0].message"
    if known.reasoning_parser:
        yield 'print(getattr(message, "reasoning", None))'
    yield "print(message.content)"
    if known.tool_parser:
        yield "# With tools=[…] the calls come in message.tool_calls: check each against its schema."
    if known.preserved_thinking is True:
        yield "# In the next turn send the message back with its reasoning: the model keeps what it thought."


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)
