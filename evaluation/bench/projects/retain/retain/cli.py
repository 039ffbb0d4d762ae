"""The command line: `retain FOLDER --keep "daily=7" [--delete] [--protect NAME]`."""

import argparse
import datetime
import pathlib
import sys

from .policy import Policy, freed
from .sizes import age, human, table
from .snapshot import Catalog


def delete(folder, verdicts, announce=print):
    """Delete what does not stay; returns how many files are gone."""
    count = 0
    for verdict in verdicts:
        if verdict.stays:
            continue
        path = pathlib.Path(folder) / verdict.snapshot.name
        try:
            path.unlink()
        except FileNotFoundError:
            announce(f"{path.name} is gone already")
            continue
        count += 1
    return count


def overview(verdicts, now):
    """A table of verdicts, as text."""
    rows = []
    for verdict in verdicts:
        snapshot = verdict.snapshot
        rows.append(
            (
                "+" if verdict.stays else "-",
                snapshot.source,
                f"{snapshot.time:%Y-%m-%d %H:%M}",
                age((now - snapshot.time).total_seconds()),
                human(snapshot.size),
                " ".join(verdict.reasons),
            )
        )
    return table(rows, right={3, 4})


def main(argv=None, now=None):
    """Run the command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="retain")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--keep", default="last=1 daily=7", metavar="POLICY")
    parser.add_argument("--protect", action="append", default=[], metavar="NAME")
    parser.add_argument("--delete", action="store_true")
    arguments = parser.parse_args(argv)
    try:
        policy = Policy.parse(arguments.keep)
        catalog = Catalog.scan(arguments.folder)
    except (ValueError, OSError) as error:
        print(f"retain: {error}", file=sys.stderr)
        return 2
    policy.protected = frozenset(arguments.protect)
    verdicts = policy.verdicts(catalog)
    print(overview(verdicts, now or datetime.datetime.now()))
    print(f"{sum(not one.stays for one in verdicts)} of {len(verdicts)} go, {human(freed(verdicts))} freed")
    if arguments.delete:
        print(f"{delete(arguments.folder, verdicts)} deleted")
    return 0
