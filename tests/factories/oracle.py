"""Asks an installed engine's own argument parser: run by the engine's Python, which has nothing of ours.

Reads a JSON list of commands (each a list: program, `serve`, arguments) and prints a JSON list of what the
engine says of each: `ok`, or its complaint.
"""

import json
import sys
from importlib import import_module
from typing import Any


def main() -> None:
    """Answer for all commands, in order."""
    serve = import_module("vllm.entrypoints.cli.serve").ServeSubcommand()
    parser = _parser(serve)
    answers = [_answer(serve, parser, command) for command in json.load(sys.stdin)]
    json.dump(answers, sys.stdout)


class _Complaint(Exception):  # noqa: N818 - what the parser says, not what went wrong here
    pass


def _parser(serve: Any) -> Any:
    """Return the parser of `vllm serve` below that of `vllm`, as the engine's own program makes them."""
    parser = import_module("vllm.utils.argparse_utils").FlexibleArgumentParser(prog="vllm")
    below = serve.subparser_init(parser.add_subparsers(required=False, dest="subparser"))
    parser.error = below.error = _complain
    return parser


def _complain(message: str) -> None:
    raise _Complaint(message)


def _answer(serve: Any, parser: Any, command: list[str]) -> str:
    try:
        arguments = parser.parse_args(command[1:])
        serve.validate(arguments)
        _look_up(arguments)
    except (_Complaint, TypeError, ValueError) as complaint:
        return " ".join(str(complaint).split())
    return "ok"


def _look_up(arguments: Any) -> None:
    """Look the parsers of answers up, which the engine does only once it serves."""
    reasoning = import_module("vllm.reasoning").ReasoningParserManager.list_registered()
    tools = import_module("vllm.tool_parsers").ToolParserManager.list_registered()
    for name, known in ((arguments.reasoning_parser, reasoning), (arguments.tool_call_parser, tools)):
        if name and name not in known:
            raise _Complaint(f"unknown parser {name}")


if __name__ == "__main__":
    main()
