"""A local model in this process, run with Hugging Face's libraries.

`provider.py` is the asynchronous provider. `host.py` has the process's single worker thread, which
loads models (`loading.py`) and runs them (`decoding.py`), one call at a time. Only that thread
imports torch.
"""

from llm.providers.huggingface.provider import HuggingFaceProvider

__all__ = ["HuggingFaceProvider"]
