"""Source code as text: its files, its numbers, what is refused."""

import base64
import re

import numpy as np
import pytest

import abers
from abers.errors import InvalidParameter, InvalidType
from abers.export import source_code, steps, to_source
from export_cases import rule_set, rules

RULES = rules()
ALL_RULES = pytest.mark.parametrize("rule", RULES.values(), ids=list(RULES))
LANGUAGES = {"c": "Rule.h", "java": "Rule.java", "javascript": "Rule.mjs"}


def columns(rule):
    table = steps(rule)
    return np.array((table.start, table.lower, table.upper, table.probability))


def numbers_of_c(text):
    arrays = re.findall(r"\[\d+\] = \{\n(.*?)\};", text, re.DOTALL)
    return [[hexadecimal(word) for word in array.split(",\n")[:-1]] for array in arrays]


def hexadecimal(text):
    word = text.strip()
    return float(word) if "INF" in word else float.fromhex(word)


@ALL_RULES
def test_c_has_the_bits_of_the_steps(rule):
    text = to_source(rule, "c", name="Rule")["Rule.h"].decode()
    assert np.array_equal(numbers_of_c(text.replace("INFINITY", "INF")), columns(rule))


@ALL_RULES
@pytest.mark.parametrize("language", ["java", "javascript"])
def test_base64_has_the_bits_of_the_steps(rule, language):
    text = to_source(rule, language, name="Rule")[LANGUAGES[language]].decode()
    pieces = re.findall(r'"([A-Za-z0-9+/=]{64,})"', text)
    assert max(map(len, pieces)) <= 60_000
    decoded = np.frombuffer(base64.b64decode("".join(pieces)), "<f8")
    assert np.array_equal(decoded, columns(rule).ravel())


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_placeholder_is_left(language, monkeypatch):
    for limit in (2**16, 1):
        monkeypatch.setattr(source_code, "MOST_INLINE", limit)
        made = to_source(RULES["rare"], language, name="Rule")
        assert re.findall(rb"@\w+@", made[LANGUAGES[language]]) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_many_steps_are_in_a_file_of_their_own(language, monkeypatch):
    monkeypatch.setattr(source_code, "MOST_INLINE", 10)
    made = to_source(RULES["rare"], language, name="Rule")
    assert list(made) == [LANGUAGES[language], "Rule.bin"]
    assert made["Rule.bin"] == columns(RULES["rare"]).astype("<f8").tobytes()
    assert len(made[LANGUAGES[language]]) < 4_000


def test_the_probability_is_that_of_the_loss():
    text = to_source(RULES["rare"], "c", name="r", loss="brier")["r.h"].decode()
    expected = steps(RULES["rare"], loss="brier").probability
    assert np.array_equal(numbers_of_c(text.replace("INFINITY", "INF"))[3], expected)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"language": "cobol"}, InvalidParameter, "language must be"),
        ({"loss": "hinge"}, InvalidParameter, "loss must be"),
        ({"name": "1st"}, InvalidParameter, "name must be a letter"),
        ({"name": "a-b"}, InvalidParameter, "name must be a letter"),
        ({"name": None}, InvalidParameter, "name must be a letter"),
        ({"language": "java", "name": "class"}, InvalidParameter, "capital letter"),
        ({"language": "java", "name": "String"}, InvalidParameter, "another class"),
        ({"rule": rule_set()}, InvalidType, r"rule_set\[group\]"),
        (
            {"rule": abers.rules.Diagram.from_counts([1], [1], [0])},
            InvalidType,
            "Diagram",
        ),
    ],
)
def test_wrong_use_is_refused(options, error, message):
    given = {"rule": RULES["one row"], "language": "c", "name": "rule", **options}
    with pytest.raises(error, match=message):
        to_source(**given)
