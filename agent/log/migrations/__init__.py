"""The tables in Postgres, by Alembic's migrations.

A revision is named `major_minor`. Within one major version each change only adds, so that two
versions of the program can use the database during a deployment.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agent.core.settings import BadSettings

MAJOR, MINOR = 1, 2
"""The newest revision in `versions/`."""
_LOCK = 0x6865616C
"""Postgres' advisory lock while tables are changed."""


def migrate(connection: Any) -> None:
    """Creates or updates the tables, unless they are of this version or a newer minor one.

    Args:
        connection: An open connection of psycopg in autocommit mode.

    Raises:
        BadSettings: The tables are of another major version.
    """
    if _is_current(connection):
        return
    from alembic import command
    from alembic.config import Config
    from sqlalchemy import create_engine
    from sqlalchemy.pool import StaticPool

    connection.execute("select pg_advisory_lock(%s)", (_LOCK,))
    try:
        if not _is_current(connection):
            config = Config()
            config.set_main_option("script_location", str(Path(__file__).parent))
            # The engine begins its own transactions on a connection of its own.
            config.attributes["engine"] = create_engine(
                "postgresql+psycopg://", poolclass=StaticPool,
                creator=lambda: type(connection).connect(
                    connection.info.dsn, password=connection.info.password
                ),
            )
            command.upgrade(config, "head")
            config.attributes["engine"].dispose()
    finally:
        connection.execute("select pg_advisory_unlock(%s)", (_LOCK,))


def _is_current(connection: Any) -> bool:
    if connection.execute("select to_regclass('alembic_version')").fetchone()[0] is None:
        return False
    row = connection.execute("select version_num from alembic_version").fetchone()
    major, minor = map(int, row[0].split("_")) if row else (MAJOR, -1)
    if major != MAJOR:
        newer = major > MAJOR
        raise BadSettings(
            f"The database has tables of version {major}.{minor}; this program uses {MAJOR}."
            f"{MINOR}. " + ("Update the program." if newer else "Use another database, or export "
                            "its runs with the version that wrote them.")
        )
    return minor >= MINOR
