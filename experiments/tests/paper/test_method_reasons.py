"""Claims on reasons, validity, sigmoids, time and many classes, made by hand."""

import math

import pytest

from experiments.paper.studies import Studies
from experiments.paper.studies.artificial_data import SvmRun, Timing
from experiments.paper.studies.many_classes import ManyClasses
from experiments.paper.studies.validity import Group, Validity
from made_records import figures, of, same

INF = math.inf


def test_crossing_is_judged_for_each_method():
    gains = {
        "IVAP": (0.5, 0.5),
        "CVAP": (0.4, 0.4),
        "Platt": (0.5, 0.5),
        "cross Platt": (0.4, 0.4),
        "isotonic": (INF, 0.5),
        "cross isotonic": (0.4, 0.4),
    }
    assert of("crossing")(figures(lambda *_: gains)).verdict == "holds"
    split = gains | {"cross Platt": (0.6, 0.6)}
    assert of("crossing")(figures(lambda *_: split)).verdict == "mixed"


def test_crossing_is_judged_for_each_loss():
    """Ten of twelve together would do, four of six are too few."""

    def losses(data, _):
        crossed = 0.6 if data in {"adult", "bank"} else 0.4
        return {
            "IVAP": (0.5, 0.5),
            "Platt": (0.5, 0.5),
            "cross Platt": (crossed, 0.4),
        }

    found = of("crossing")(figures(losses))
    assert found.verdict == "mixed"
    assert "cross Platt log loss 4 of 6" in found.evidence
    assert "Brier loss 6 of 6" in found.evidence


RIVALS = (
    "cross isotonic dummies",
    "cross Platt log-odds",
    "cross isotonic",
    "cross underlying",
)


@pytest.mark.parametrize("rival", RIVALS)
def test_no_crossed_rival_is_left_out(rival):
    losses = same(RIVALS, (0.6, 0.6)) | same(("IVAP", "CVAP"), (0.5, 0.5))
    found = figures(lambda *_: losses | {rival: (0.4, 0.4)})
    assert of("bounds beyond crossing")(found).verdict == "mixed"


def test_bounds_beyond_crossing_are_held_against_crossed_rivals():
    for loss, verdict in ((0.6, "holds"), (0.4, "fails")):
        losses = same(RIVALS, (loss, loss)) | same(("IVAP", "CVAP"), (0.5, 0.5))
        found = of("bounds beyond crossing")(figures(lambda *_, x=losses: x))
        assert found.verdict == verdict


def test_regularisation_matters_for_log_loss_where_isotonic_is_infinite():
    losses = {"isotonic": (INF, 0.4), "IVAP": (0.5, 0.4)}
    found = of("regularisation and log loss")(figures(lambda *_: losses))
    assert found.verdict == "holds"
    assert "isotonic 6" in found.evidence
    finite = same(("isotonic", "IVAP"), (0.5, 0.4))
    assert of("regularisation and log loss")(figures(lambda *_: finite)).verdict == (
        "not run"
    )


def test_regularisation_matters_less_than_crossing_for_brier_loss_on_large_sets():
    for isotonic, verdict in ((0.501, "holds"), (0.7, "fails")):
        losses = {
            "isotonic": (0.5, isotonic),
            "IVAP": (0.5, 0.5),
            "CVAP": (0.5, 0.45),
        }
        found = of("regularisation and Brier loss")(figures(lambda *_, x=losses: x))
        assert found.verdict == verdict


def checked(how, k, p_value):
    return Validity(how, k, 1_000, (Group(0.5, 0.5, 1_000, 0.0),), 1.0, p_value)


def test_validity_must_hold_for_every_size_and_break_where_it_is_broken():
    fine = (checked("exchangeable", 20, 0.3), checked("exchangeable", 100, 0.02))
    ways = ("one fixed calibration set", "stratified split", "shifted test row")
    broken = tuple(
        checked(how, k, p) for how in ways for k, p in ((20, 0.0), (99, 0.5))
    )
    studies = Studies(validity=fine + broken)
    assert of("validity")(studies).verdict == "holds"
    assert of("validity broken on purpose")(studies).verdict == "holds"
    doubtful = Studies(validity=(fine[0], checked("exchangeable", 100, 0.001)))
    assert of("validity")(doubtful).verdict == "mixed"
    unnoticed = Studies(validity=(checked("stratified split", 20, 0.4),))
    assert of("validity broken on purpose")(unnoticed).verdict == "fails"


def test_a_sigmoid_loses_what_the_paper_says():
    found = of("limit of a sigmoid")(Studies())
    assert found.verdict == "holds"
    assert "0.7213 and 0.8113" in found.evidence


def test_sigmoid_of_gathered_margins_must_stay_behind():
    for near, ivap, verdict in (
        (0.9, 0.75, "holds"),
        (0.9, 0.77, "mixed"),
        (0.9, 0.8, "fails"),
        (0.5, 0.75, "not run"),  # the limit was not approached
    ):
        runs = (SvmRun(6_400, near, 0.72, 0.80, 0.75, ivap),)
        assert of("SVM and sigmoid")(Studies(machines=runs)).verdict == verdict


def timed(k, sort, fit, ordered, query):
    return Timing(k, sort, fit, ordered, fit, fit, query, None, None, 1e-3)


def test_time_is_judged_by_the_fit_the_sorted_fit_and_the_query():
    """Proposition 2: O(k log k), O(k) if sorted, and O(log k) a test object."""

    def verdict(*last):
        first = timed(1_000, 1e-5, 1e-4, 1e-4, 1e-9)
        timings = (first, timed(100_000, *last))
        return of("computation time")(Studies(timings=timings)).verdict

    assert verdict(1e-3, 1e-2, 1e-2, 2e-9) == "holds"
    assert verdict(1e-3, 1.0, 1e-2, 2e-9) == "mixed"  # the fit grows as k²
    assert verdict(1e-3, 1e-2, 1.0, 2e-9) == "mixed"
    assert verdict(1e-3, 1e-2, 1e-2, 1e-7) == "mixed"  # a query grows as k
    assert verdict(1e-3, 1.0, 1.0, 1e-7) == "fails"
    assert of("computation time")(Studies()).verdict == "not run"


def many(cvap, underlying):
    """Digits and one tree, IVAP at 0.5; log and Brier losses of the others."""
    losses = {("underlying", ""): underlying}
    for way in ("ovo", "ovr"):
        losses |= {("IVAP", way): (0.5, 0.5), ("CVAP", way): cvap}
    return Studies(
        classes=tuple(
            ManyClasses("digits", 10, "tree", *names, *both, 0.9, 1.0)
            for names, both in losses.items()
        )
    )


def test_many_classes_are_held_against_ivap_and_the_underlying_algorithm():
    low, high = (0.4, 0.4), (0.6, 0.6)
    assert of("many classes")(many(low, high)).verdict == "holds"
    assert of("many classes")(many(low, (0.3, 0.3))).verdict == "mixed"
    assert of("many classes")(many(high, (0.3, 0.3))).verdict == "fails"
    assert of("many classes")(Studies()).verdict == "not run"


def test_many_classes_say_which_wins_are_against_an_infinite_loss():
    found = of("many classes")(many((0.4, 0.4), (INF, 0.3)))
    assert found.verdict == "mixed"  # the Brier loss is higher
    assert (
        "one-vs-one, underlying: log loss 1 of 1, of which 1 against an infinite loss, "
        "Brier loss 0 of 1; digits 1/2." in found.evidence
    )
