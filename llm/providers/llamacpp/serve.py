"""Runs llama.cpp's server for one model file, as a separate program.

It imports no other module of this package, and a crash of native code ends only this process. The
first line of standard input is a JSON object (`ServedModel.settings` in `child.py`). One line of
JSON goes to standard output: `{"address": URL}` or `{"fault": TEXT}`. The program ends at the end
of its standard input, and so when its parent ends.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any


def parameters(asked: dict[str, Any]) -> Any:
    """The settings in the form of the library's server."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = asked["path"]
    params.hostnames, params.port, params.api_keys = ["127.0.0.1"], 0, [asked["key"]]
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = asked["threads"]
    params.n_parallel = asked["slots"]
    params.n_ctx = asked["context"] * asked["slots"]
    # A cancelled request stops between two batches.
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
    os.dup2(2, 1)  # keeps the output of native code out of the answer
    try:
        import xllamacpp

        server = xllamacpp.Server(parameters(asked))
        reply = {"address": server.listening_address}
    except Exception as error:  # noqa: BLE001 - reported to the parent
        reply = {"fault": f"{type(error).__name__}: {error}"}
    print(json.dumps(reply), file=answers, flush=True)
    if "address" in reply:
        sys.stdin.read()
    os._exit("fault" in reply)  # the library's threads do not shut down cleanly


if __name__ == "__main__":
    sys.exit(main())
