#!/usr/bin/env python3
"""Answers as the `docker` command does, and runs what it is given on this machine.

It keeps to what can be kept here: the capabilities, the privileges and the standard streams are
those asked for; the network, the file system and the memory are this machine's. What it was
asked is written to a log, so that creations and removals can be counted.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

FOLDER = Path(os.environ["FAKE_DOCKER_FOLDER"])
MODE = os.environ.get("FAKE_DOCKER_MODE", "")

VALUED = {
    "--name", "--pull", "--network", "--ipc", "--log-driver", "--tmpfs", "--memory",
    "--memory-swap", "--pids-limit", "--user", "--cap-drop", "--cap-add", "--security-opt",
    "--stop-timeout", "--workdir", "--entrypoint",
}
FLAGS = {"--rm", "--interactive", "--read-only"}


def main() -> int:
    arguments = sys.argv[1:]
    with (FOLDER / "log").open("a") as log:
        log.write(json.dumps(arguments) + "\n")
    match arguments:
        case ["version", "--format", _]:
            if MODE == "no daemon":
                print("Cannot connect to the Docker daemon at unix:///x", file=sys.stderr)
                return 1
            print("28.0.0")
            return 0
        case ["rm", "--force", name]:
            return remove(name)
        case ["run", *rest]:
            return run(rest)
    print(f"unknown command: {arguments}", file=sys.stderr)
    return 125


def run(arguments: list[str]) -> int:
    options: list[tuple[str, str]] = []
    while arguments and arguments[0].startswith("-"):
        name = arguments.pop(0)
        if name in VALUED:
            options.append((name, arguments.pop(0)))
        elif name not in FLAGS:
            print(f"unknown flag: {name}", file=sys.stderr)
            return 125
    image, *command = arguments
    if MODE == "no image":
        print(f"docker: Error response from daemon: No such image: {image}", file=sys.stderr)
        return 125
    if MODE == "no python":
        print('exec: "python3": executable file not found in $PATH', file=sys.stderr)
        return 127
    command[0] = sys.executable
    if os.geteuid() == 0:
        kept = [f"+{value.lower()}" for name, value in options if name == "--cap-add"]
        bounds = ",".join(["-all", *kept])
        command = ["setpriv", "--no-new-privs", f"--bounding-set={bounds}", *command]
    # A daemon starts the container, so the end of the client is not the container's.
    process = subprocess.Popen(
        command, env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}, cwd="/",
        start_new_session=True,
    )
    place = FOLDER / dict(options)["--name"]
    place.write_text(str(process.pid))
    code = process.wait()
    place.unlink(missing_ok=True)
    return code


def remove(name: str) -> int:
    if MODE == "cannot remove":
        print("permission denied", file=sys.stderr)
        return 1
    place = FOLDER / name
    try:
        pid = int(place.read_text())
    except (FileNotFoundError, ValueError):
        print(f"Error response from daemon: No such container: {name}", file=sys.stderr)
        return 1
    place.unlink()
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    print(name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
