"""Write shelfmark/_version.py, as the build does; a placeholder where there is no tag."""

import pathlib
import sys

TARGET = pathlib.Path(__file__).resolve().parent.parent / "shelfmark" / "_version.py"
TEXT = '''"""Written by tools/write_version.py; do not edit, do not commit."""

version = {version!r}
version_tuple = {parts!r}
'''


def main(version="0.0.0"):
    """Write the file for a version like "1.2.3"."""
    parts = tuple(int(part) for part in version.split("."))
    TARGET.write_text(TEXT.format(version=version, parts=parts))


if __name__ == "__main__":
    main(*sys.argv[1:])
