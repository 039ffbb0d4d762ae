"""Shelf marks of a library: read them, order them, print their labels.

>>> import shelfmark
>>> [mark.text for mark in shelfmark.arranged(["QA 76.9 B2", "QA 9 B3", "QA 76.9 A12"])]
['QA 9 B3', 'QA 76.9 A12', 'QA 76.9 B2']
"""

from shelfmark._version import version as __version__
from shelfmark.labels import label
from shelfmark.mark import BadMark, Mark
from shelfmark.order import arranged, misplaced

__all__ = ["BadMark", "Mark", "__version__", "arranged", "label", "misplaced"]
