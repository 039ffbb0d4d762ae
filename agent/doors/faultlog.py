"""Where the details of our own faults go: a file in the data folder, not the terminal."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agent.core.settings import Settings, data_folder


class FaultLog(logging.Handler):
    """Appends warnings and errors, with their tracebacks, to `faults.log`.

    The file is made by the first of them; `path` is `None` until then.
    """

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.setFormatter(logging.Formatter("%(asctime)s %(name)s: %(message)s"))
        self.path: Path | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Writes one record; where even that fails, `logging` says so on standard error."""
        try:
            if self.path is None:
                self.path = data_folder(Settings.from_env())[0] / "faults.log"
            with self.path.open("a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(self.format(record) + "\n")
        except Exception:  # noqa: BLE001  # the protocol of logging handlers
            self.handleError(record)


@contextmanager
def faults_logged(*, verbose: bool) -> Iterator[FaultLog]:
    """Sends what our code logs to a `FaultLog`, and with `verbose` to standard error too."""
    root = logging.getLogger()
    log = FaultLog()
    handlers: list[logging.Handler] = [log]
    if verbose:
        handlers.append(logging.StreamHandler())
    for handler in handlers:
        root.addHandler(handler)
    try:
        yield log
    finally:
        for handler in handlers:
            root.removeHandler(handler)
