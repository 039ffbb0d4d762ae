"""Models of random weights, and tokenizers trained on the spot.

They say nothing, but everything around a model can be run with them: nothing is downloaded.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from llm.providers.huggingface.loading import local_model

if TYPE_CHECKING:
    from llm.providers.huggingface.decoding import LocalModel

ROOT = Path(__file__).parent.parent.parent
CHAT = (
    "<|begin|>{% for turn in messages %}<|{{ turn.role }}|>\n{{ turn.content }}<|end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)
MARKS = ["<|begin|>", "<|end|>", "<|system|>", "<|user|>", "<|assistant|>"]


def tokenizer(vocabulary: int = 2_000) -> Any:
    """Trained on the project's own Python, with a chat template."""
    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    inner.train_from_iterator(_texts(ROOT / "agent"), trainers.BpeTrainer(
        vocab_size=vocabulary, special_tokens=MARKS, show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    ))
    made = PreTrainedTokenizerFast(
        tokenizer_object=inner, bos_token="<|begin|>", eos_token="<|end|>", pad_token="<|end|>",
        additional_special_tokens=MARKS[2:],
    )
    made.chat_template = CHAT
    return made


def _texts(folder: Path) -> Iterator[str]:
    for path in sorted(folder.rglob("*.py")):
        yield path.read_text(encoding="utf-8", errors="replace")


def network(vocabulary: int, seed: int = 0, **shape: int) -> Any:
    """Two layers of random weights, or another shape."""
    torch.manual_seed(seed)
    small = {
        "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 2_048,
    }
    made: Any = LlamaForCausalLM(LlamaConfig(
        vocab_size=vocabulary, bos_token_id=0, eos_token_id=1, pad_token_id=1, **(small | shape)
    ))
    made.generation_config = GenerationConfig(eos_token_id=[1], pad_token_id=1)
    return made.eval()


def made(tokenizer: Any, network: Any) -> LocalModel:
    """A network in memory as a model that answers."""
    return local_model("random", network, tokenizer, "cpu", lookup=0)


def saved(folder: Path, seed: int = 0) -> Path:
    """A folder that loads like any model's."""
    words = tokenizer()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        words.save_pretrained(folder)
        network(len(words), seed).save_pretrained(folder)
    return folder


class Oracle:
    """Makes a network answer with given tokens: every forward is run, only its choice is not its
    own. What a decoder does with a model that answers perfectly can be counted that way."""

    def __init__(self, network: Any) -> None:
        self._asked = 0
        self._script: list[int] = []
        self.forwards = 0
        network.register_forward_hook(self._spoken, with_kwargs=True)

    def say(self, script: list[int], asked: int) -> None:
        """From now on, after a question of `asked` tokens."""
        self._script, self._asked, self.forwards = script, asked, 0

    def _spoken(self, network: Any, args: Any, kwargs: Any, output: Any) -> None:
        self.forwards += 1
        logits = output.logits
        behind = output.cache.get_seq_length() - logits.shape[1] + 1 - self._asked
        for at in range(logits.shape[1]):
            if 0 <= behind + at < len(self._script):
                logits[0, at] = -1e4
                logits[0, at, self._script[behind + at]] = 1e4
