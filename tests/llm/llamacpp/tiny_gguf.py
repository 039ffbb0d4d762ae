"""A GGUF file of random weights: it says nothing, but everything around a model runs with it."""

from __future__ import annotations

from pathlib import Path

import numpy
from gguf import GGUFWriter

TEMPLATE = (
    "{% for turn in messages %}<|im_start|>{{ turn.role }}\n{{ turn.content }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
WIDTH, INNER, HEADS, LAYERS = 64, 128, 4, 2


def alphabet() -> list[str]:
    """A character for each byte, as byte-level vocabularies write them."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in shown]
    names = {byte: chr(byte) for byte in shown}
    names.update({byte: chr(256 + place) for place, byte in enumerate(hidden)})
    return [names[byte] for byte in range(256)]


def written(path: Path, template: str = TEMPLATE) -> Path:
    """Writes such a file, about half a megabyte long."""
    tokens = [
        *alphabet(), "Ġa", "<|endoftext|>", "<|im_start|>", "<|im_end|>",
        "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>",
    ]
    file = GGUFWriter(str(path), "qwen2")
    file.add_context_length(8_192)
    file.add_embedding_length(WIDTH)
    file.add_block_count(LAYERS)
    file.add_feed_forward_length(INNER)
    file.add_head_count(HEADS)
    file.add_head_count_kv(HEADS // 2)
    file.add_rope_freq_base(10_000.0)
    file.add_layer_norm_rms_eps(1e-6)
    file.add_tokenizer_model("gpt2")
    file.add_tokenizer_pre("qwen2")
    file.add_token_list(tokens)
    file.add_token_types([1] * 257 + [3] * 6)
    file.add_token_merges(["Ġ a"])
    file.add_bos_token_id(tokens.index("<|endoftext|>"))
    file.add_eos_token_id(tokens.index("<|im_end|>"))
    if template:
        file.add_chat_template(template)
    chance = numpy.random.default_rng(0)

    def add(name: str, *shape: int) -> None:
        values = chance.standard_normal(shape) * 0.2
        file.add_tensor(name, values.astype(numpy.float32))

    add("token_embd.weight", len(tokens), WIDTH)
    add("output.weight", len(tokens), WIDTH)
    add("output_norm.weight", WIDTH)
    for number in range(LAYERS):
        block = f"blk.{number}."
        add(f"{block}attn_norm.weight", WIDTH)
        add(f"{block}ffn_norm.weight", WIDTH)
        for name, out in (("q", WIDTH), ("k", WIDTH // 2), ("v", WIDTH // 2)):
            add(f"{block}attn_{name}.weight", out, WIDTH)
            add(f"{block}attn_{name}.bias", out)
        add(f"{block}attn_output.weight", WIDTH, WIDTH)
        add(f"{block}ffn_gate.weight", INNER, WIDTH)
        add(f"{block}ffn_up.weight", INNER, WIDTH)
        add(f"{block}ffn_down.weight", WIDTH, INNER)
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()
    return path
