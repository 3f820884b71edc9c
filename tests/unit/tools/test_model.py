"""The small model: the same bytes everywhere, and a readable vocabulary."""

import json
from pathlib import Path

import pytest
import yaml

from stacks.errors import Refusal
from tools import model
from tools.bootstrap import checkpoint
from tools.model import vocabulary


def test_what_is_written_is_what_the_manifest_says(tmp_path: Path) -> None:
    manifest = yaml.safe_load(checkpoint.MANIFEST.read_text())
    assert model.build(tmp_path) == manifest["revision"]
    assert model.files(tmp_path) == manifest["files"]


@pytest.mark.parametrize(
    "shape", [model.Shape(head_dim=16), model.Shape(), model.Shape(heads=6, kv_heads=3, rows=576)]
)
def test_tensors_have_the_shapes_of_the_configuration(tmp_path: Path, shape: model.Shape) -> None:
    model.build(tmp_path, shape)
    data = (tmp_path / "model.safetensors").read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    assert json.loads((tmp_path / "config.json").read_text())["head_dim"] == shape.head_dim
    queries = [shape.heads * shape.head_dim, 128]
    assert header["model.layers.1.self_attn.q_proj.weight"]["shape"] == queries
    assert header["lm_head.weight"]["shape"] == [shape.rows, 128]
    assert (
        max(tensor["data_offsets"][1] for name, tensor in header.items() if name[0] != "_")
        == len(data) - 8 - size
    )


def test_every_text_comes_back_from_the_tokenizer() -> None:
    tokenizer = vocabulary.tokenizer()
    text = "Two hosts hold one small model\n, ça va? 机"
    assert tokenizer.get_vocab_size() == vocabulary.SIZE
    assert tokenizer.decode(tokenizer.encode(text).ids) == text


def test_every_word_of_the_saying_is_one_token_with_one_successor() -> None:
    follows = vocabulary.successors()
    assert set(follows) == set(follows.values())
    assert set(follows) <= set(vocabulary.tokenizer().get_vocab())


def test_a_model_other_than_its_manifest_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest = yaml.safe_load(checkpoint.MANIFEST.read_text())
    manifest["files"]["config.json"]["size"] += 1
    (tmp_path / "manifest.yaml").write_text(yaml.safe_dump(manifest))
    monkeypatch.setattr(checkpoint, "MANIFEST", tmp_path / "manifest.yaml")
    monkeypatch.setenv("RACKSTACK_CACHE", str(tmp_path / "cache"))
    with pytest.raises(Refusal, match=r"^model: config\.json of lab-qwen3-bf16 came out other than"):
        checkpoint.ensure()
    assert not list((tmp_path / "cache/checkpoints" / checkpoint.NAME).glob("[!.]*"))
