"""API keys in a type that is hard to print or store by mistake."""

from __future__ import annotations


class Secret:
    """A key that prints as stars, equals only itself and cannot be pickled or serialised.

    `reveal` returns the text for the one place that sends it.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text.strip()

    def reveal(self) -> str:
        return self._text

    def __bool__(self) -> bool:
        return bool(self._text)

    def __repr__(self) -> str:
        return "Secret('***')" if self._text else "Secret('')"

    __str__ = __repr__

    def __reduce__(self) -> str:
        raise TypeError("a secret is not pickled: it would leave the process")


NO_KEY = Secret("")
