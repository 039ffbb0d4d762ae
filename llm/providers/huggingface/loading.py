"""Loads a model in a format that suits this machine, or raises an error with the next step."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    RepositoryNotFoundError,
)
from huggingface_hub.utils.tqdm import disable_progress_bars
from tokenizers import Tokenizer
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoTokenizer,
    BitsAndBytesConfig,
    GenerationConfig,
)
from transformers.utils import logging

from llm.errors import LlmError, NoProvider, ProviderDown, UnknownModel, WrongKey
from llm.keys import Secret
from llm.provider import install_words
from llm.providers.huggingface.decoding import LocalModel
from llm.providers.machine import free_mib

Dtype = Literal["float32", "bfloat16", "float16"]

_UNAUTHORIZED = (401, 403)
_NATIVE_BFLOAT16 = {"avx512_bf16", "amx_bf16"}


@dataclass(frozen=True)
class Hardware:
    """A device, its abilities, and its free MiB (`None`: unknown)."""

    device: Literal["cpu", "cuda"]
    capability: tuple[int, int] = (0, 0)
    """The capability of a CUDA device; bfloat16 is native from (8, 0) on."""
    flags: frozenset[str] = frozenset()
    """The flags of a processor."""
    free_mib: int | None = None

    @property
    def dtype(self) -> Dtype:
        """The number format: bfloat16 only if it is native, since emulation is slow."""
        if self.device == "cuda":
            return "bfloat16" if self.capability >= (8, 0) else "float16"
        return "bfloat16" if self.flags & _NATIVE_BFLOAT16 else "float32"

    def lookup(self, four_bit: bool) -> int:
        """How many copied tokens one forward pass should verify. On a GPU and in bfloat16 ten cost
        hardly more than one; in float32, and with 4 bits on a processor, nearly four times as
        much."""
        cheap = self.device == "cuda" or (self.dtype == "bfloat16" and not four_bit)
        return 10 if cheap else 5


def this_hardware() -> Hardware:
    """The first CUDA device, otherwise the processor."""
    if torch.cuda.is_available():
        free, _ = torch.cuda.mem_get_info(0)
        return Hardware("cuda", torch.cuda.get_device_capability(0), free_mib=free // 2**20)
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").split("\n")
    except OSError:
        lines = []  # not Linux: the flags are unknown, and float32 works everywhere
    flags = next((line.split(":")[1].split() for line in lines if line.startswith("flags")), [])
    return Hardware("cpu", flags=frozenset(flags), free_mib=free_mib())


def load(name: str, key: Secret, four_bit: bool, hardware: Hardware | None = None) -> LocalModel:
    """Loads the model in a format for `hardware`, by default this machine's. Raises an `LlmError`
    with the next step."""
    gc.collect()  # frees the memory of unloaded models
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    disable_progress_bars()
    logging.disable_progress_bar()
    here = this_hardware() if hardware is None else hardware
    dtype = here.dtype
    with translate_errors(name, key):
        config = load_config(name, key)
        _require_memory(name, config, here, four_bit)
        tokenizer = AutoTokenizer.from_pretrained(name, token=hub_token(key))
        quantized = BitsAndBytesConfig(
            load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_use_double_quant=True,
            bnb_4bit_compute_dtype=getattr(torch, dtype),
        )
        network: Any = AutoModelForCausalLM.from_pretrained(
            name, config=config, token=hub_token(key), dtype=getattr(torch, dtype),
            device_map={"": here.device}, quantization_config=quantized if four_bit else None,
        )
    words = (
        f"{here.device}, {dtype}{', 4-bit weights' if four_bit else ''}, "
        f"{network.get_memory_footprint() // 2**20:,} MiB"
    )
    return local_model(name, network.eval(), tokenizer, words, here.lookup(four_bit))


def local_model(name: str, network: Any, tokenizer: Any, words: str, lookup: int) -> LocalModel:
    """A `LocalModel` of a loaded network and tokenizer."""
    if not tokenizer.is_fast:
        raise NoProvider(f"{name} has no fast tokenizer; choose another HF_MODEL")
    advised = network.generation_config
    ends = advised.eos_token_id if advised.eos_token_id is not None else tokenizer.eos_token_id
    if ends is None:
        raise NoProvider(f"{name} defines no end-of-answer token; choose another HF_MODEL")
    counting = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    counting.encode_special_tokens = True  # counts the text of a control token as text
    sampling = {"top_k": advised.top_k, "top_p": advised.top_p}
    # `generate` takes its defaults from here. Recommendations for chats, such as a repetition
    # penalty, would corrupt copied code.
    network.generation_config = GenerationConfig()
    return LocalModel(
        name=name, network=network, tokenizer=tokenizer, counting=counting,
        ends=tuple(ends) if isinstance(ends, list) else (ends,),
        window=getattr(network.config.get_text_config(), "max_position_embeddings", None),
        sampling={name: value for name, value in sampling.items() if value is not None},
        lookup=lookup, words=words,
    )


def load_config(name: str, key: Secret) -> Any:
    """The model's configuration, a small file that shows that the model is accessible."""
    with translate_errors(name, key):
        return AutoConfig.from_pretrained(name, token=hub_token(key), trust_remote_code=False)


def hub_token(key: Secret) -> str | bool:
    """The token, or `False` for none; `None` would send this machine's login token."""
    return key.reveal() or False


def _require_memory(name: str, config: Any, here: Hardware, four_bit: bool) -> None:
    """Raises `NoProvider` if the weights do not fit into memory. Linux overcommits memory and would
    kill the process instead of raising an exception."""
    if here.free_mib is None:
        return
    with torch.device("meta"):
        empty: Any = AutoModelForCausalLM.from_config(config)
    matrices = sum(
        layer.weight.numel()
        for path, layer in empty.named_modules()
        if isinstance(layer, torch.nn.Linear) and "lm_head" not in path
    )
    others = sum(weight.numel() for weight in empty.parameters()) - matrices
    needed = needed_mib(matrices, others, here.dtype, four_bit)
    if needed > here.free_mib:
        advice = "choose a smaller HF_MODEL" if four_bit else (
            "set USE_4BIT=1, or choose a smaller HF_MODEL"
        )
        raise NoProvider(
            f"{name} needs about {needed:,} MiB on the {here.device}, and {here.free_mib:,} MiB "
            f"are free: {advice}"
        )


def needed_mib(matrices: int, others: int, dtype: Dtype, four_bit: bool) -> int:
    """The memory of a model in MiB. Only the parameters in `matrices` can be stored with 4 bits,
    plus an eighth of overhead; `others` cannot."""
    size = 4 if dtype == "float32" else 2
    return int((matrices * (0.5625 if four_bit else size) + others * size) / 2**20)


@contextmanager
def translate_errors(name: str, key: Secret) -> Iterator[None]:
    """Converts the libraries' exceptions into `LlmError`s. Hub errors are wrapped in others."""
    try:
        yield
    except LlmError:
        raise
    except (torch.OutOfMemoryError, MemoryError) as error:
        raise NoProvider(
            f"{name} does not fit into memory: set USE_4BIT=1, or choose a smaller HF_MODEL"
        ) from error
    except ImportError as error:
        raise NoProvider(
            f"{name} cannot be loaded: {error}. Try: {install_words('local')}"
        ) from error
    except RuntimeError as error:
        raise NoProvider(
            f"{name} cannot be loaded here: {error}; choose another HF_MODEL"
        ) from error
    except (OSError, ValueError) as error:
        raise _hub_error(name, key, list(_causes(error))) from error


def _hub_error(name: str, key: Secret, causes: list[BaseException]) -> LlmError:
    page = f"https://huggingface.co/{name}"
    if any(isinstance(cause, GatedRepoError) for cause in causes):
        return WrongKey(
            f"{name} is gated: accept its licence at {page} and set HF_TOKEN to a token of that "
            "account with access to gated models"
        )
    if any(isinstance(cause, RepositoryNotFoundError | HFValidationError) for cause in causes):
        private = "" if key else "; for a private one, set HF_TOKEN"
        return UnknownModel(f"there is no model {name} on the hub: check HF_MODEL{private}")
    statuses = [
        cause.response.status_code
        for cause in causes
        if isinstance(cause, HfHubHTTPError) and cause.response is not None
    ]
    if any(status in _UNAUTHORIZED for status in statuses):
        return WrongKey(f"the hub refused the token for {name}: check HF_TOKEN")
    if statuses or any(
        isinstance(cause, LocalEntryNotFoundError | ConnectionError) for cause in causes
    ):
        return ProviderDown(
            f"the hub cannot be reached, and {name} is not in the cache: check the network, "
            "or set HF_MODEL to a folder"
        )
    return UnknownModel(f"{name} cannot be loaded: {causes[0]}; check HF_MODEL")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
