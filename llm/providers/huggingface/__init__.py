"""A model in this process, through the libraries of Hugging Face.

`provider.py` is what an event loop sees. Behind it `host.py` has the process's one worker, whose
thread loads models (`loading.py`) and lets them answer (`decoding.py`), one call at a time. Only
that thread imports torch.
"""

from llm.providers.huggingface.provider import HuggingFaceProvider

__all__ = ["HuggingFaceProvider"]
