"""What `make up` says at its end: how to talk to the model."""

# `printf` is the shell's own word: the key is in no process's arguments, where everybody could read it.
_TEXT = """
The model {model} answers at {endpoint}. Its key is never printed; in this folder:

KEY=$(make -s outputs STACK={stack} |
  .venv/bin/python -c 'import json, sys; print(json.load(sys.stdin)["apiKey"])')

printf 'Authorization: Bearer %s' "$KEY" |
  curl -sS {endpoint}/chat/completions -H @- -H 'Content-Type: application/json' \\
  -d '{{"model": "{model}", "max_tokens": 32, "messages": [{{"role": "user", "content": "Hello"}}]}}'; echo

OPENAI_API_KEY=$KEY .venv/bin/python - <<'END'
{snippet}
END
"""


def text(stack: str, model: str, endpoint: str, snippet: str) -> str:
    """Return the words with commands that work when pasted into a shell.

    Args:
        stack: Name of the stack.
        model: Name of the model in the API.
        endpoint: Base URL of the API, which ends in `/v1`.
        snippet: A Python program that asks the model one question.
    """
    return _TEXT.format(stack=stack, model=model, endpoint=endpoint, snippet=snippet.strip())
