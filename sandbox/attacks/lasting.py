"""Attacks on whoever runs next: what a job leaves behind is looked for by another job."""

from __future__ import annotations

from sandbox.attacks.attack import ABSENT, Attack, everywhere

_GONE = everywhere(ABSENT, L1=ABSENT)

ATTACKS = (
    Attack(
        "leave a file for the next job", "next job",
        'open("left-" + world["token"], "w").close()', everywhere(ABSENT, L1=ABSENT, L2="EPERM"),
        probe='found(os.path.exists("left-" + world["token"]))',
    ),
    Attack(
        "leave a module for the next job", "next job",
        'open("left_behind.py", "w").close()', everywhere(ABSENT, L1=ABSENT, L2="EPERM"),
        probe="try:\n    import left_behind\nexcept ImportError:\n    found(False)",
    ),
    Attack(
        "replace a builtin for the next job", "next job",
        "import builtins\nbuiltins.abs = lambda value: 42", _GONE,
        probe="found(abs(-1) == 42)", harness="interpreter",
    ),
    Attack(
        "replace a library's function for the next job", "next job",
        "import json.decoder\njson.decoder.ready = True", _GONE,
        probe='import json.decoder\nfound(hasattr(json.decoder, "ready"))', harness="interpreter",
    ),
    Attack(
        "scribble over a number for the next job", "next job",
        "ctypes.memset(id(int('199')) + 24, 200, 1)", _GONE,
        probe="found(int('199') + 1000 == 1200)", harness="interpreter",
    ),
    Attack(
        "plant an importer for the next job", "next job",
        "sys.meta_path.insert(0, type('Planted', (), {'find_spec': lambda *_: None}))", _GONE,
        probe="found(any(one.__name__ == 'Planted' for one in sys.meta_path "
              "if isinstance(one, type)))",
        harness="interpreter",
    ),
    Attack(
        "leave a thread for the next job", "next job",
        """
import threading
threading.Thread(target=time.sleep, args=(1,), name="lurker", daemon=True).start()
""",
        _GONE,
        probe="import threading\nfound(any(one.name == 'lurker' for one in threading.enumerate()))",
        harness="interpreter",
    ),
    Attack(
        "leave a handler of signals for the next job", "next job",
        "import signal\nsignal.signal(signal.SIGUSR1, signal.SIG_IGN)", _GONE,
        probe="import signal\nfound(signal.getsignal(signal.SIGUSR1) == signal.SIG_IGN)",
        harness="interpreter",
    ),
    Attack(
        "change the environment of the next job", "next job",
        "os.environ['LEFT'] = 'behind'", _GONE, probe="found(os.environ.get('LEFT'))",
        harness="interpreter",
    ),
    Attack(
        "leave the next job few descriptors", "next job",
        "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (11, 11))", _GONE,
        probe="""
import resource
found(resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 11)
""",
        harness="interpreter",
    ),
    Attack(
        "crash the harness", "next job", "ctypes.string_at(0)", _GONE, probe="found(False)",
        harness="interpreter",
    ),
    Attack(
        "overflow the stack of the harness", "next job",
        'machine_code(b"\\xe8\\xfb\\xff\\xff\\xff")()',  # a function that only calls itself
        _GONE, probe="found(False)", harness="interpreter", machines=("x86_64",),
    ),
    Attack(
        "end the harness", "next job", "os._exit(0)", _GONE, probe="found(False)",
        harness="interpreter",
    ),
)
