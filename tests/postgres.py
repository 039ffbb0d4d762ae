"""A private Postgres server on a socket in a temporary folder, and an empty database for a test."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

FOLDERS = Path("/usr/lib/postgresql")
_NUMBER = count()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Path]:
    """The folder of the socket of a running server."""
    found = sorted(FOLDERS.glob("*/bin/initdb"))
    commands = found[-1].parent if found else None
    if commands is None:
        initdb = shutil.which("initdb")
        if initdb is None:
            pytest.skip("there is no Postgres server (Debian's package `postgresql`)")
        commands = Path(initdb).resolve().parent
    # A server does not run as root, and the path of a socket has at most 107 bytes.
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))
    user = None
    if os.geteuid() == 0:
        user = next((one.pw_name for one in pwd.getpwall() if one.pw_name == "postgres"), "nobody")
        shutil.chown(folder, user)
    run = {"check": True, "user": user, "cwd": folder, "capture_output": True}
    data, log = folder / "data", folder / "log"
    subprocess.run(
        [commands / "initdb", "-D", data, "-A", "trust", "-U", "heal", "--no-sync"],
        **run,  # type: ignore[call-overload]
    )
    options = f"-c listen_addresses='' -k {folder} -c fsync=off"
    control = [commands / "pg_ctl", "-D", data, "-w"]
    subprocess.run(
        [*control, "-l", log, "-o", options, "start"],
        **run | {"capture_output": False, "stdout": subprocess.DEVNULL},  # type: ignore[call-overload]
    )
    yield folder
    subprocess.run([*control, "-m", "immediate", "stop"], **run)  # type: ignore[call-overload]
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def database(postgres: Path) -> Iterator[str]:
    """The address of an empty database."""
    import psycopg

    name = f"test{next(_NUMBER)}"
    server = f"host={postgres} user=heal dbname=postgres"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"create database {name}")
    yield f"postgresql://heal@/{name}?host={postgres}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"drop database {name} with (force)")
