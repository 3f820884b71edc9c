"""What `make up` says at its end: how to talk to the model."""

from collections.abc import Mapping
from typing import Any

# `printf` is the shell's own word: the key is in no process's arguments, where everybody could read it.
_TEXT = """
The model {model} answers at {endpoint}.
{reach}
Its key is never printed; in this folder:

told() {{
  make -s outputs STACK={stack} |
    .venv/bin/python -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' $1
}}
KEY=$(told apiKey)
{written}
printf 'Authorization: Bearer %s' "$KEY" |
  curl -sS {curl}{endpoint}/chat/completions -H @- -H 'Content-Type: application/json' \\
  -d '{{"model": "{model}", "max_tokens": 32, "messages": [{{"role": "user", "content": "Hello"}}]}}'; echo

{python}OPENAI_API_KEY=$KEY .venv/bin/python - <<'END'
{snippet}
END
"""
_REACH = """
It is private. This line opens it here for as long as it runs; give it a terminal of its own:

{line}
"""


def text(stack: str, outputs: Mapping[str, Any]) -> str:
    """Return the words with commands that work when pasted into a shell.

    Args:
        stack: Name of the stack.
        outputs: Of the stack, secrets masked: `model`, `endpoint`, `snippet`, `caCertificate` (empty where it
            has no CA of its own) and, of a private stack, `reach`.
    """
    file = f".state/{stack}-ca.pem" if outputs["caCertificate"] else ""
    reach = outputs.get("reach")
    return _TEXT.format(
        stack=stack,
        model=outputs["model"],
        endpoint=outputs["endpoint"],
        reach=_REACH.format(line=reach) if reach else "",
        written=f"told caCertificate >{file}\n" if file else "",
        curl=f"--cacert {file} " if file else "",
        python=f"SSL_CERT_FILE={file} " if file else "",
        snippet=outputs["snippet"].strip(),
    )
