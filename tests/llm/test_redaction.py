from __future__ import annotations

import base64
import json
import logging
import string
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm.keys import Secret
from llm.redaction import MARK, LogRedaction, Redactor, may_hold_a_key, redacted_logs

KEYS = {
    "sk-ant-api03-" + "Ab1_-" * 8,
    "sk-proj-" + "a1B2" * 8,
    "sk-or-v1-" + "0f" * 32,
    "sk-" + "c0ffee" * 6,
    "gsk_" + "a1B2" * 13,
    "AIza" + "Sy-1_" * 7,
    "hf_" + "aB" * 17,
    "ghp_" + "a1" * 18,
    "github_pat_" + "11AA_b" * 6,
    "xoxb-" + "123-abc" * 3,
    "AKIA" + "A1B2" * 4,
    "lsv2_pt_" + "0a1b" * 8 + "_0a1b2c",
    "sk_live_" + "a1B2" * 6,
}
SECRET = "canary/key+1=\\ \"é'"

# What a program may hold that begins like a key and is none.
ORDINARY = """\
skip_whitespace_characters = sk_learn = hf_hub_download_many
class_name = "sk-estimator-doc-link-fitted"
task-1234567890abcdef, risk-adjusted-return-of-a-fund, AIza, sk-, hf_
password = "correct-horse"; token = tokens[position]
headers = {"Authorization": f"Bearer {token}"}  # the bearer of-the-message-on-high
"""

letters = string.ascii_letters + string.digits + "/+=-_.:'\"\\%é\n "
secrets = st.text(letters, min_size=6, max_size=30).filter(lambda text: len(text.strip()) >= 6)
texts = st.text(letters, max_size=12)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=4,
)


@pytest.mark.parametrize("key", sorted(KEYS))
def test_what_has_the_shape_of_a_key_is_taken_out(key: str) -> None:
    assert Redactor().text(f"x = '{key}', y") == f"x = '{MARK}', y"
    assert Redactor().text(f"https://host/?key={key}&a=1") == f"https://host/?key={MARK}&a=1"
    assert may_hold_a_key(f"# {key}")


def test_bearers_and_private_keys_are_taken_out() -> None:
    assert Redactor().text("Authorization: Bearer abc.DEF-123456\n") == (
        f"Authorization: Bearer {MARK}\n"
    )

    pem = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n+ab/\n-----END RSA PRIVATE KEY-----"
    assert Redactor().text(f"a\n{pem}\nb") == f"a\n{MARK}\nb"


def test_ordinary_code_is_left_alone_and_literals_only_held_back() -> None:
    assert Redactor([Secret("canary-canary")]).text(ORDINARY) == ORDINARY

    for path in (Path(__file__).parents[2] / "llm").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert Redactor().text(text) == text, path

    assert may_hold_a_key("password = 'correct-horse'")
    assert not may_hold_a_key("skip_whitespace_characters = hf_hub_download_many")

    assert Redactor(["", "a", "abc"]).text("abc a") == "abc a"


@pytest.mark.parametrize("spelled", [
    SECRET,
    quote(SECRET),
    quote(SECRET, safe=""),
    quote_plus(SECRET),
    json.dumps(SECRET),
    json.dumps(SECRET, ensure_ascii=False),
    repr(SECRET),
    ascii(SECRET),
])
def test_a_known_secret_is_found_as_it_is_spelled_elsewhere(spelled: str) -> None:
    assert Redactor([Secret(SECRET)]).text(f"<{spelled}>").strip("<>\"'") == MARK


@pytest.mark.parametrize("before", ["", "a", "ab", "user:", "Bearer "])
def test_a_known_secret_is_found_within_longer_base64(before: str) -> None:
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        coded = encode(f"{before}{SECRET}:more".encode()).decode()
        clean = Redactor([SECRET]).text(coded)
        assert MARK in clean
        left = sum(map(len, clean.split(MARK)))
        assert left <= len(encode(f"{before}:more".encode())) + 4


@given(secrets, values, texts, texts)
def test_no_nested_secret_survives(secret: str, value: object, before: str, after: str) -> None:
    redactor = Redactor([secret])
    held = before + secret.strip() + after
    clean = redactor.value({"a": [value, {held: held, "b": ((held,),)}], held: value})

    def found(part: object) -> bool:
        match part:
            case str():
                return secret.strip() in part
            case dict():
                return any(found(one) for pair in part.items() for one in pair)
            case list():
                return any(map(found, part))
        return False

    assert not found(clean)


@given(st.lists(secrets, max_size=3), st.lists(st.sampled_from(sorted(KEYS)) | texts, max_size=6))
def test_to_redact_again_changes_nothing(known: list[str], parts: list[str]) -> None:
    redactor = Redactor(known)
    once = redactor.text("".join([*parts, *known, *parts]))
    assert redactor.text(once) == once


class Kept(logging.Handler):
    """Keeps what a handler would write."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(f"{self.format(record)} {vars(record)}")


def written(kept: Kept) -> str:
    return "\n".join(kept.lines)


@pytest.fixture
def kept() -> Kept:
    return Kept()


@pytest.fixture
def logger(kept: Kept) -> logging.Logger:
    one = logging.Logger("anything")
    one.addHandler(kept)
    kept.addFilter(LogRedaction(Redactor([Secret("canary-key")])))
    return one


def test_a_log_record_never_holds_secrets(logger: logging.Logger, kept: Kept) -> None:
    logger.warning("sent %s and %r", "canary-key", {"k": ["canary-key"]})
    logger.warning("extra", extra={"headers": {"Authorization": "Bearer canary-key"}})
    try:
        raise ValueError("canary-key is wrong")
    except ValueError:
        logger.exception("failed", stack_info=True)

    assert "canary-key" not in written(kept)
    assert "sent *** and" in kept.lines[0]
    assert "ValueError: *** is wrong" in kept.lines[2]


def test_a_malformed_log_call_shows_no_secret(logger: logging.Logger, kept: Kept) -> None:
    words = "%d and %d"
    logger.warning(words, "canary-key")
    assert "canary-key" not in written(kept)
    assert "%d and %d" in written(kept)


def test_all_handlers_of_the_moment_redact_within_the_block_only(kept: Kept) -> None:
    wire = logging.getLogger("httpx2")
    wire.addHandler(kept)
    try:
        with redacted_logs(LogRedaction(Redactor(["canary-key"]))) as guard:
            wire.warning("canary-key")
            guard.redactor = Redactor(["another-key"])
            wire.warning("another-key")
        assert "-key" not in written(kept)
        wire.warning("canary-key")
        assert "canary-key" in written(kept)
    finally:
        wire.removeHandler(kept)
