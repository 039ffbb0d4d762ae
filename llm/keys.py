"""Secrets, held so that they are hard to show by mistake."""

from __future__ import annotations


class Secret:
    """A key that prints as stars, equals only itself and refuses to be pickled or copied into a
    document. `reveal` gives its text, for the one place that sends it."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text.strip()

    def reveal(self) -> str:
        """The key itself."""
        return self._text

    def __bool__(self) -> bool:
        return bool(self._text)

    def __repr__(self) -> str:
        return "Secret('***')" if self._text else "Secret('')"

    __str__ = __repr__

    def __reduce__(self) -> str:
        raise TypeError("a secret is not pickled: it would leave the process")


NO_KEY = Secret("")
