"""Runs llama.cpp's own server over one model file, as a program by itself: it imports
no other module of this package, so that a crash of native code ends this process and no other.

The first line of standard input is a JSON object (see `Which.orders` in `child.py`); one line of
JSON goes to standard output, `{"address": URL}` or `{"fault": TEXT}`. It ends when its standard
input does, which is when its parent is gone.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any


def parameters(asked: dict[str, Any]) -> Any:
    """The parameters of the library's server."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = asked["path"]
    params.hostnames, params.port, params.api_keys = ["127.0.0.1"], 0, [asked["key"]]
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = asked["threads"]
    params.n_parallel = asked["slots"]
    params.n_ctx = asked["context"] * asked["slots"]
    # A question that is read is given up between two batches.
    params.n_batch = params.n_ubatch = asked["batch"]
    params.cache_ram_mib = asked["cache_mib"]
    params.enable_reasoning = 0  # an answer is code or JSON from its first token
    params.use_jinja, params.ui, params.endpoint_slots = True, False, False
    params.verbosity = 1
    return params


def main() -> int:
    """Serves until standard input ends; returns the exit status."""
    asked = json.loads(sys.stdin.readline())
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what native code prints is no answer
    try:
        import xllamacpp

        server = xllamacpp.Server(parameters(asked))
        reply = {"address": server.listening_address}
    except Exception as error:  # noqa: BLE001 - reported to the parent, whatever it is
        reply = {"fault": f"{type(error).__name__}: {error}"}
    print(json.dumps(reply), file=answers, flush=True)
    if "address" in reply:
        sys.stdin.read()
    os._exit("fault" in reply)  # the library's threads do not end in order


if __name__ == "__main__":
    sys.exit(main())
