"""Tables with a head line: one column for the time, one a quantity."""

import csv

from ..core.errors import BadReading
from ..core.reading import Reading, quantity_name, seconds
from .lines import MISSING, measured


def read_table(path, station=None, delimiter=None):
    """Yield readings of a file; the station is the file's stem unless it is given.

    Columns whose name starts with "_" are left out. The delimiter is guessed from the head.
    """
    station = station or path.stem.upper()
    with open(path, newline="", encoding="utf-8-sig") as file:
        head = file.readline().rstrip("\r\n")
        delimiter = delimiter or max(";,\t", key=head.count)
        columns = [name.strip() for name in head.split(delimiter)]
        if columns[0].lower() not in ("time", "utc"):
            raise BadReading(path.name, "the first column is not the time")
        names = [None if name.startswith("_") else quantity_name(name, path.name) for name in columns[1:]]
        for number, row in enumerate(csv.reader(file, delimiter=delimiter), start=2):
            if not any(row):
                continue
            where = f"{path.name} line {number}"
            for name, text in zip(names, row[1:]):
                if name and text.strip().lower() not in MISSING:
                    yield Reading(seconds(row[0]), station, name, measured(text.strip(), where))
