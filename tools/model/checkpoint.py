"""The files of the checkpoint, byte for byte the same wherever they are written."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.model import vocabulary

Weights = Mapping[str, NDArray[np.float32]]

LAYERS = 2
HIDDEN = 128
INTERMEDIATE = 384
CONTEXT = 2048

# Powers of two keep every weight exact in bfloat16. The layers' part of the last hidden
# state is about twice the embedding's: what they compute counts, and the saying still wins
# by half of its logit, far above what another order of sums changes.
_EMBEDDING = 2.0**-7  # rows in (-1, 1)
_ATTENTION = 2.0**-11
_MLP = 2.0**-10


@dataclass(frozen=True)
class Shape:
    """What of the model may differ.

    Attributes:
        head_dim: Size of one attention head. Engines load 16, say that they are
            healthy and fail at the first completion.
        heads: Attention heads; the ranks of an engine have to divide them.
        kv_heads: Key and value heads.
        rows: Rows of the embedding, at least the tokens that there are. Engines pad
            to 64, and ranks have to divide that.
    """

    head_dim: int = 64
    heads: int = 8
    kv_heads: int = 4
    rows: int = vocabulary.SIZE


def build(folder: Path, shape: Shape = Shape()) -> str:
    """Write the checkpoint into an existing, empty folder.

    Args:
        folder: Where the files go.
        shape: What of the model differs.

    Returns:
        The revision: the first 12 hex digits of a SHA-256 over names and contents of all files.
    """
    tokenizer = vocabulary.tokenizer()
    documents = {
        "config.json": _config(shape),
        "generation_config.json": {"do_sample": False, "eos_token_id": 2, "pad_token_id": 0},
        "tokenizer_config.json": _tokenizer_config(),
        "tokenizer.json": json.loads(tokenizer.to_str()),
    }
    for name, document in documents.items():
        (folder / name).write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    weights = {**_ends(tokenizer.get_vocab(), shape.rows), **_layers(shape)}
    (folder / "model.safetensors").write_bytes(_serialize(weights))
    return revision(folder)


def files(folder: Path) -> dict[str, dict[str, int | str]]:
    """Return path → size in bytes and SHA-256 in hex of every file, sorted by path."""
    contents = {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
    return {
        name: {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        for name, data in contents.items()
    }


def revision(folder: Path) -> str:
    """Return the revision of the checkpoint in this folder, 12 hex digits."""
    return hashlib.sha256(json.dumps(files(folder)).encode()).hexdigest()[:12]


def _config(shape: Shape) -> dict[str, Any]:
    return {
        "architectures": ["Qwen3ForCausalLM"],
        "model_type": "qwen3",
        "vocab_size": shape.rows,
        "hidden_size": HIDDEN,
        "intermediate_size": INTERMEDIATE,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.kv_heads,
        "head_dim": shape.head_dim,
        "hidden_act": "silu",
        "max_position_embeddings": CONTEXT,
        "rms_norm_eps": 1e-06,
        "rope_theta": 1000000.0,
        "attention_bias": False,
        "attention_dropout": 0.0,
        "use_sliding_window": False,
        "tie_word_embeddings": False,
        "bos_token_id": 0,
        "eos_token_id": 2,
        "pad_token_id": 0,
        "torch_dtype": "bfloat16",
    }


def _tokenizer_config() -> dict[str, Any]:
    end, _, turn = vocabulary.SPECIAL
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": CONTEXT,
        "clean_up_tokenization_spaces": False,
        "eos_token": turn,
        "pad_token": end,
        "chat_template": vocabulary.CHAT_TEMPLATE,
    }


def _ends(ids: Mapping[str, int], rows: int) -> Weights:
    """Return embedding and output matrix (both vocabulary by hidden).

    The output row of a token is the embedding of the token before it, so greedy
    answers follow the saying by a wide margin, whatever the order of sums.
    Tokens outside the saying lean on one inside it and have no output row: special
    tokens and broken UTF-8 are never said.
    """
    embedding = _draw("embedding", rows, HIDDEN) * np.float32(_EMBEDDING)
    output = np.zeros_like(embedding)
    follows = vocabulary.successors()
    inside = [ids[token] for token in follows]
    for index in sorted(set(range(rows)) - set(inside)):
        embedding[index] = embedding[inside[index % len(inside)]] + embedding[index] / 4
    for token, following in follows.items():
        output[ids[following]] = embedding[ids[token]]
    return {"model.embed_tokens.weight": embedding, "lm_head.weight": output}


def _layers(shape: Shape) -> Weights:
    queries, keys = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
    shapes = {
        "self_attn.q_proj": (queries, HIDDEN),
        "self_attn.k_proj": (keys, HIDDEN),
        "self_attn.v_proj": (keys, HIDDEN),
        "self_attn.o_proj": (HIDDEN, queries),
        "mlp.gate_proj": (INTERMEDIATE, HIDDEN),
        "mlp.up_proj": (INTERMEDIATE, HIDDEN),
        "mlp.down_proj": (HIDDEN, INTERMEDIATE),
    }
    ones = {
        "self_attn.q_norm": shape.head_dim,
        "self_attn.k_norm": shape.head_dim,
        "input_layernorm": HIDDEN,
        "post_attention_layernorm": HIDDEN,
    }
    weights: dict[str, NDArray[np.float32]] = {"model.norm.weight": np.ones(HIDDEN, np.float32)}
    for layer in range(LAYERS):
        for name, sides in shapes.items():
            path = f"model.layers.{layer}.{name}.weight"
            weights[path] = _draw(path, *sides) * np.float32(_MLP if "mlp" in name else _ATTENTION)
        for name, size in ones.items():
            weights[f"model.layers.{layer}.{name}.weight"] = np.ones(size, np.float32)
    return weights


def _draw(name: str, rows: int, columns: int) -> NDArray[np.float32]:
    """Return whole numbers from -128 to 127 that depend on the name alone, on every machine."""
    data = hashlib.shake_256(name.encode()).digest(rows * columns)
    return np.frombuffer(data, np.int8).reshape(rows, columns).astype(np.float32)


def _serialize(weights: Weights) -> bytes:
    """Return the safetensors file: size of the header, header, then all tensors one after the other."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    body = b""
    for name, weight in weights.items():
        data = _bfloat16(weight)
        place = [len(body), len(body) + len(data)]
        header[name] = {"dtype": "BF16", "shape": list(weight.shape), "data_offsets": place}
        body += data
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)  # the format wants the tensors aligned to 8 bytes
    return len(text).to_bytes(8, "little") + text + body


def _bfloat16(weight: NDArray[np.float32]) -> bytes:
    """Return the upper half of each float, little-endian, which is bfloat16 cut off towards zero."""
    return (weight.astype("<f4").view("<u4") >> 16).astype("<u2").tobytes()
