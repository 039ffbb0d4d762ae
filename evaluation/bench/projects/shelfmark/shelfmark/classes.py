"""The classes that stand at the beginning of a shelf mark.

A class is one to three letters; a longer one belongs to the class of its first letters.

>>> title("QA")
'Mathematics'
>>> title("QAB")
'Mathematics'
"""

CLASSES = {
    "A": "General works",
    "B": "Philosophy",
    "BF": "Psychology",
    "C": "History, auxiliary",
    "G": "Geography",
    "GV": "Recreation",
    "H": "Social sciences",
    "HB": "Economics",
    "M": "Music",
    "ML": "Literature on music",
    "N": "Fine arts",
    "P": "Language",
    "PN": "Literature",
    "PZ": "Children's books",
    "Q": "Science",
    "QA": "Mathematics",
    "QC": "Physics",
    "QH": "Biology",
    "T": "Technology",
    "TX": "Cookery",
    "Z": "Books on books",
}

#: where a class stands: class -> (floor, first bay)
ROOMS = {
    "A": (0, 1),
    "G": (0, 20),
    "M": (2, 1),
    "PZ": (0, 40),
    "Q": (1, 1),
    "QH": (1, 30),
    "T": (1, 60),
}

REFERENCE = "REF"


def longest(table, name):
    """The entry of the longest beginning of `name`, or None.

    >>> longest({"A": 1, "AB": 2}, "ABC")
    2
    """
    for size in range(len(name), 0, -1):
        if name[:size] in table:
            return table[name[:size]]
    return None


def title(name):
    """What a class is about; raises KeyError."""
    found = longest(CLASSES, name)
    if found is None:
        raise KeyError(name)
    return found


def room(name):
    """Where a class stands; what has no room of its own stands with the class before it.

    >>> room("HB")
    (0, 20)
    """
    found = longest(ROOMS, name)
    if found is None:
        earlier = [key for key in ROOMS if key < name]
        found = ROOMS[max(earlier)]
    return found
