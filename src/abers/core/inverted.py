"""Inverted scores: higher scores go with fewer positives; the rule is nearly flat.

Isotonic regression pools whatever falls, so a rule of inverted scores predicts the base
rate almost everywhere, and looks well calibrated. The Mann-Whitney test detects this.
It costs a pass over the data, so only rules with few pieces are tested.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from abers.errors import InvertedScoresWarning, warn

if TYPE_CHECKING:
    from collections.abc import Mapping

    from abers.core.auc import MannWhitney

Name = TypeVar("Name")

FALSE_ALARMS = 0.001  # share of fits to uninformative scores that raise a warning
# A rule may be inverted if it has at most 96 + 8 n / k pieces, where k is the number of
# rows with the rarer label. In decision 5, rules with a warning have at most three
# quarters of that. A rule of informative scores has more: some 2,000 for 10^6 rows.
FEW_PIECES, PIECES_PER_RARER = 96, 8
HALF = 0.5
INVERTED = (
    "The score is inverted (AUC {:.3f}): higher scores go with fewer positives. Fit "
    "with increasing=False (command line: --descending), or negate the score."
)
INVERTED_FALLING = (
    "The score is inverted for a decreasing rule (AUC {:.3f}): higher scores go with "
    "more positives. Fit without increasing=False (command line: --descending)."
)


def inverted_sentence(auc: float) -> str:
    """Return the message on an inverted score, given its AUC."""
    # An increasing score is inverted below one half, a decreasing one above.
    return (INVERTED if auc < HALF else INVERTED_FALLING).format(auc)


def may_be_inverted(n_pieces: int, zeros: float, ones: float) -> bool:
    """Return whether a rule with this many pieces may come from inverted scores."""
    rarer = min(zeros, ones)
    most = FEW_PIECES * rarer + PIECES_PER_RARER * (zeros + ones)
    return n_pieces * rarer <= most


def inverted(
    tests: Mapping[Name, MannWhitney | None], *, increasing: bool
) -> dict[Name, MannWhitney]:
    """Return the rules of one fit whose scores are inverted, most significant first.

    The level holds for the fit as a whole (Bonferroni), so pass all its rules; None
    stands for one that needs no test.
    """
    against = {
        name: (p, test)
        for name, test in tests.items()
        if test is not None
        and (p := test.p_value(increasing=increasing)) * len(tests) < FALSE_ALARMS
    }
    surest = sorted(against.items(), key=lambda item: item[1][0])
    return {name: test for name, (_, test) in surest}


def warn_if_inverted(test: MannWhitney | None, *, increasing: bool) -> None:
    """Warn if the scores of a rule are inverted."""
    if test is not None and test.p_value(increasing=increasing) < FALSE_ALARMS:
        warn(inverted_sentence(test.auc), InvertedScoresWarning)
