"""512 tokens: three special ones, the 256 bytes, and words with all their beginnings."""

from tokenizers import AddedToken, Tokenizer, decoders, pre_tokenizers
from tokenizers.models import BPE

SIZE = 512
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")

# What the model says, whatever it is asked. No word comes twice: the next word
# follows from the last one alone.
SAYING = (
    "Two hosts hold one small model together , and each rank computes its half of every layer before both"
    " sums meet to choose the next word in an answer that means nothing but always stays exactly as it was ."
)
_FILLING = (
    "rack stack tensor parallel expert pipeline head tray node fabric switch cluster fleet engine token"
    " prompt cache context weight bytes memory bandwidth please hello what who why how your name tell me"
)


def _spell(word: str) -> str:
    """Return the token of a word inside a line; Ġ is how byte-level BPE writes the space before it."""
    return f"Ġ{word}" if word.isalpha() else word


_FIRST, *_OTHERS = SAYING.split()
_ROUND = ["Ċ", _FIRST, *map(_spell, _OTHERS)]  # Ċ is how it writes a newline

CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def tokenizer() -> Tokenizer:
    """Return the byte-level BPE tokenizer; its ids are the rows of the embedding."""
    vocabulary, merges = _grow()
    made = Tokenizer(BPE(vocab=vocabulary, merges=merges))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in SPECIAL])
    return made


def successors() -> dict[str, str]:
    """Return which token follows which: the saying goes round, one line after the other."""
    return dict(zip(_ROUND, [*_ROUND[1:], _ROUND[0]], strict=True))


def _grow() -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Return token → id and the merges: a word grows letter by letter, so its merges touch no other word."""
    tokens = [*SPECIAL, *sorted(pre_tokenizers.ByteLevel.alphabet())]
    merges = []
    for word in [*_ROUND, *map(_spell, _FILLING.split())]:
        for end in range(2, len(word) + 1):
            if word[:end] not in tokens and len(tokens) < SIZE:
                tokens.append(word[:end])
                merges.append((word[: end - 1], word[end - 1]))
    return {token: index for index, token in enumerate(tokens)}, merges
