"""Loads a model, fitted to this machine, or says what to do about it."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

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
from llm.providers.huggingface.decoding import LocalModel
from llm.providers.huggingface.hardware import (
    Hardware,
    dtype_for,
    lookup_tokens,
    needed_mib,
    this_hardware,
)
from llm.providers.huggingface.status import LoadedModel

_UNAUTHORIZED = (401, 403)


def load(
    name: str, key: Secret, four_bit: bool, hardware: Hardware | None = None
) -> LocalModel:
    """The model in memory, fitted to this hardware, or to another that is given. Raises an
    `LlmError` that says the next step."""
    gc.collect()  # of a model that was let go, nothing may be left beside this one
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    disable_progress_bars()
    logging.disable_progress_bar()
    here = this_hardware() if hardware is None else hardware
    dtype = dtype_for(here)
    with explained(name, key):
        config = found(name, key)
        _fits(name, config, here, dtype, four_bit)
        tokenizer = AutoTokenizer.from_pretrained(name, token=token_of(key))
        quantized = BitsAndBytesConfig(
            load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_use_double_quant=True,
            bnb_4bit_compute_dtype=getattr(torch, dtype),
        )
        network: Any = AutoModelForCausalLM.from_pretrained(
            name, config=config, token=token_of(key), dtype=getattr(torch, dtype),
            device_map={"": here.device}, quantization_config=quantized if four_bit else None,
        )
    fitted = LoadedModel(here.device, dtype, four_bit, network.get_memory_footprint() // 2**20)
    return local_model(
        name, network.eval(), tokenizer, fitted, lookup_tokens(here, dtype, four_bit)
    )


def local_model(
    name: str, network: Any, tokenizer: Any, fitted: LoadedModel, lookup: int
) -> LocalModel:
    """A network and a tokenizer in memory as a model that answers."""
    if not tokenizer.is_fast:
        raise NoProvider(f"{name} has no tokenizer of the fast kind; choose another HF_MODEL")
    advised = network.generation_config
    ends = advised.eos_token_id if advised.eos_token_id is not None else tokenizer.eos_token_id
    if ends is None:
        raise NoProvider(f"{name} names no token that ends an answer; choose another HF_MODEL")
    counting = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    counting.encode_special_tokens = True  # the text of a control token is text
    given = {"top_k": advised.top_k, "top_p": advised.top_p}
    # What the makers advise for talk, such as a penalty on repetition, would spoil a copied
    # program, and `generate` fills what a call leaves open from here.
    network.generation_config = GenerationConfig()
    return LocalModel(
        name=name,
        network=network,
        tokenizer=tokenizer,
        counting=counting,
        ends=tuple(ends) if isinstance(ends, list) else (ends,),
        window=getattr(network.config.get_text_config(), "max_position_embeddings", None),
        sampling={name: value for name, value in given.items() if value is not None},
        lookup=lookup,
        fitted=fitted,
    )


def found(name: str, key: Secret) -> Any:
    """The model's configuration: a small file, which shows that it exists and may be read."""
    with explained(name, key):
        return AutoConfig.from_pretrained(name, token=token_of(key), trust_remote_code=False)


def token_of(key: Secret) -> str | bool:
    """`False` sends none, where `None` would send whatever this machine is logged in with."""
    return key.reveal() or False


def _fits(name: str, config: Any, here: Hardware, dtype: Any, four_bit: bool) -> None:
    """Raises where the weights do not fit. Linux promises memory it does not have, and would end
    the process where an exception is needed."""
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
    needed = needed_mib(matrices, others, dtype, four_bit)
    if needed > here.free_mib:
        advice = "choose a smaller HF_MODEL" if four_bit else (
            "set USE_4BIT=1, or choose a smaller HF_MODEL"
        )
        raise NoProvider(
            f"{name} needs about {needed:,} MiB on the {here.device}, where {here.free_mib:,} MiB "
            f"are free: {advice}"
        )


@contextmanager
def explained(name: str, key: Secret) -> Iterator[None]:
    """Turns what the libraries raise into our errors. They wrap the hub's errors in others."""
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
            f'{name} cannot be loaded: {error}. It may need: pip install -e ".[local]"'
        ) from error
    except RuntimeError as error:
        raise NoProvider(f"{name} cannot be loaded here: {error}") from error
    except (OSError, ValueError) as error:
        raise _ours(name, key, list(_causes(error))) from error


def _ours(name: str, key: Secret, causes: list[BaseException]) -> LlmError:
    page = f"https://huggingface.co/{name}"
    if any(isinstance(cause, GatedRepoError) for cause in causes):
        return WrongKey(
            f"{name} is gated: accept its licence at {page} and set HF_TOKEN to a token of that "
            "account, which may read gated models"
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
            f"the hub cannot be reached, and {name} was not downloaded before: check the network, "
            "or set HF_MODEL to a folder"
        )
    return UnknownModel(f"{name} cannot be loaded: {causes[0]}; check HF_MODEL")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
