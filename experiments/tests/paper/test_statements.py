"""Claims on calibration, on underlying algorithms and on the studies, made by hand."""

import math
from dataclasses import replace

import pytest

from experiments.paper import claims
from experiments.paper.claims.judges import clear
from experiments.paper.claims.table import NOTE, PAPER, STATEMENTS
from experiments.paper.results import LossPair, ResultIndex
from experiments.paper.run import PairedError, Unit
from experiments.paper.studies import Studies
from experiments.paper.studies.tiny_sets import TinySet
from experiments.paper.studies.tuning import TuningStudy
from experiments.paper.studies.validity import Group, Validity
from experiments.paper.studies.width_of_bounds import WidthStudy
from made_records import SIX, figures, index, of, result, same

INF = math.inf
PLACE = Unit("german", "tree", "4:1")


def test_every_claim_has_a_statement_and_every_statement_a_claim():
    judged = claims.judge_all(ResultIndex([]))
    assert [claim.name for claim in judged] == list(STATEMENTS)
    assert sum(claim.source == PAPER for claim in judged) == 44
    for claim in judged:
        if claim.source == PAPER and "Table" not in claim.place:
            assert claim.quote, claim.name
        if claim.source == NOTE:
            assert claim.place


def test_differences_beyond_two_standard_errors_are_counted_both_ways():
    pairs = [
        LossPair(PLACE, first, 0.5, error)
        for first, error in ((0.4, 0.04), (0.4, 0.06), (0.6, 0.01), (0.6, None))
    ]
    assert clear(pairs) == "; by more than 2 standard errors lower 1, higher 1"
    assert clear([LossPair(PLACE, INF, 0.5, 0.1), LossPair(PLACE, 0.4, 0.5)]) == ""


def test_errors_are_found_whichever_method_comes_first():
    found = ResultIndex(
        [result(("german", "tree", "4:1"), m, (0.4, 0.5)) for m in ("IVAP", "Platt")],
        [(PLACE, PairedError("IVAP", "Platt", 0.01, 0.02))],
    )
    for names in (("IVAP", "Platt"), ("Platt", "IVAP")):
        (pair,) = found.pairs([PLACE], "brier_loss", *names)
        assert pair.error == 0.02


@pytest.mark.parametrize(
    ("judge", "mine", "theirs"),
    [
        (of("more accurate"), ("IVAP", "CVAP"), ("Platt", "isotonic")),
        (of("CVAP outperforms"), ("CVAP",), ("Platt", "isotonic")),
        (of("decisions"), ("CVAP",), ("underlying",)),
        (of("isotonic overfits"), ("Platt",), ("isotonic",)),
        (of("pooled CVAP"), ("CVAP pooled",), ("CVAP",)),
        (of("one model"), ("CVAP one model",), ("CVAP",)),
        (
            of("two steps"),
            ("CVAP log, then Brier", "CVAP Brier, then log"),
            ("CVAP",),
        ),
    ],
)
def test_each_order_holds_or_fails_with_the_losses(judge, mine, theirs):
    rest = {"IVAP": (0.5, 0.5)}
    for loss, verdict in ((0.4, "holds"), (0.6, "fails")):
        losses = rest | same(theirs, (0.5, 0.5)) | same(mine, (loss, loss))
        assert judge(figures(lambda *_, x=losses: x)).verdict == verdict
    assert judge(ResultIndex([])).verdict == "not run"


def test_three_equal_parts_are_judged_on_their_own_tasks():
    for loss, verdict in ((0.4, "holds"), (0.6, "fails")):
        losses = same(("Platt", "isotonic"), (0.5, 0.5)) | {"IVAP": (loss, loss)}
        table = {(f"{name}-thirds", "tree", "1:1"): losses for name in SIX}
        assert of("three equal parts")(index(table)).verdict == verdict


def test_the_picture_is_typical_if_it_is_that_of_every_other_set():
    lower = same(("IVAP", "Platt", "isotonic"), (0.5, 0.5)) | {"CVAP": (0.4, 0.4)}
    higher = lower | {"CVAP": (0.6, 0.6)}
    judge = of("typical")
    assert judge(figures(lambda *_: lower)).verdict == "holds"
    but_one = figures(lambda data, _: higher if data == "bank" else lower)
    assert judge(but_one).verdict == "mixed"
    assert judge(figures(lambda *_: higher)).verdict == "fails"


def calibrated(ivap, cvap, isotonic=(0.01, 0.001)):
    """Six sets with miscalibrations and p-values of three methods."""
    parts = {"IVAP": ivap, "CVAP": cvap, "isotonic": isotonic}
    return ResultIndex(
        result((data, "tree", "4:1"), m, (0.5, 0.5), miscalibration=part, p=p)
        for data in SIX
        for m, (part, p) in parts.items()
    )


def test_cvap_must_be_no_less_calibrated_than_ivap():
    judge = of("CVAP is calibrated")
    assert judge(calibrated((0.02, 0.001), (0.01, 0.5))).verdict == "holds"
    assert judge(calibrated((0.02, 0.5), (0.01, 0.001))).verdict == "mixed"
    found = judge(calibrated((0.01, 0.5), (0.02, 0.001)))
    assert found.verdict == "fails"
    assert "bank" not in found.evidence  # in order of time nothing is calibrated


def test_isotonic_is_often_miscalibrated_if_a_test_says_so():
    judge = of("isotonic miscalibrated")
    fine = ((0.01, 0.5),) * 2
    assert judge(calibrated(*fine, isotonic=(0.01, 0.001))).verdict == "holds"
    assert judge(calibrated(*fine, isotonic=(0.01, 0.5))).verdict == "fails"


def test_lack_of_calibration_costs_wherever_a_test_finds_it():
    def found(*methods):
        return of("lack of calibration")(
            ResultIndex(
                result((data, "tree", "4:1"), m, (0.5, brier), miscalibration=part, p=p)
                for data in SIX
                for m, brier, part, p in methods
            )
        )

    ivap, platt = ("IVAP", 0.40, 0.01, 0.5), ("Platt", 0.45, 0.06, 0.001)
    said = found(ivap, platt)
    assert said.verdict == "holds"
    assert "So in 6 of 6. Of two" in said.evidence
    assert "in 6 of 6 pairs" in said.evidence
    assert "in 0 of 6 pairs" in found(ivap, ("Platt", 0.39, 0.06, 0.001)).evidence
    assert found(ivap, ("Platt", 0.45, 0.0, 0.001)).verdict == "fails"
    assert found(ivap).verdict == "not run"  # no test speaks against it


def test_scores_of_machines_are_probabilities_where_platt_sees_no_difference():
    def found(on_margins):
        losses = {"IVAP": (0.5, 0.4), "Platt": (0.5, 0.4), "Platt log-odds": on_margins}
        return of("SVM scores")(index({(data, "SVM", "4:1"): losses for data in SIX}))

    assert found((0.5, 0.4)).verdict == "holds"
    said = found((0.51, 0.4))
    assert said.verdict == "mixed"  # to the others it makes no difference
    assert "log loss 0/6, Brier loss 6/6" in said.evidence


def test_one_finite_loss_of_svm_is_one():
    def losses(*finite):
        return index(
            {
                ("adult", "SVM", ratio): {
                    "isotonic": (0.5 if ratio in finite else INF, 0.4),
                    "IVAP": (0.5, 0.4),
                }
                for ratio in ("1:1", "4:1", "all")
            }
        )

    assert of("SVM: one finite loss")(losses("all")).verdict == "holds"
    assert of("SVM: one finite loss")(losses()).verdict == "mixed"
    assert of("SVM: one finite loss")(losses("all", "4:1")).verdict == "fails"


def test_platt_must_never_be_infinite():
    for loss, verdict in ((0.5, "holds"), (INF, "fails")):
        losses = {"Platt": (loss, 0.4), "IVAP": (0.5, 0.4)}
        found = of("Platt is finite")(figures(lambda *_, x=losses: x))
        assert found.verdict == verdict


def test_german_credit_is_stable_difficult_and_mixed():
    def losses(data, ratio):
        moved = 0.1 * (ratio == "4:1")
        level = 0.7 if data == "german" else 0.4
        best = "CVAP" if ratio == "1:1" else "Platt"
        known = {
            "Platt": (level + moved, level + moved),
            "isotonic": (INF, level + moved),
            "IVAP": (level + 0.01, level + 0.01),
            "CVAP": (level + 0.005, level + 0.005),
        }
        return known | {best: (level - 0.01, level - 0.01)}

    found = figures(losses, ("1:1", "4:1"))
    assert of("German credit: stable")(found).verdict == "holds"
    assert of("German credit: difficult")(found).verdict == "holds"
    easy = figures(
        lambda data, ratio: losses("adult" if data == "german" else "german", ratio),
        ("1:1", "4:1"),
    )
    assert of("German credit: difficult")(easy).verdict == "mixed"


def test_all_is_good_on_large_sets_if_it_is_no_worse_than_the_median():
    for loss, verdict in ((0.4, "holds"), (0.6, "fails")):
        found = figures(
            lambda _, ratio, x=loss: {"IVAP": (x if ratio == "all" else 0.5,) * 2},
            ("1:1", "4:1", "all"),
        )
        assert of("all: good on large sets")(found).verdict == verdict


def test_file_order_is_awful_if_it_costs_more_than_random_order():
    for loss, verdict in ((0.9, "holds"), (0.5, "fails")):
        table = {
            ("covertype", "tree", "4:1"): same(("CVAP", "IVAP"), (0.5, 0.5)),
            ("covertype-file-order", "tree", "4:1"): same(
                ("CVAP", "IVAP"), (loss, 0.5)
            ),
        }
        assert of("covertype in file order")(index(table)).verdict == verdict


def two_algorithms(bagging, logistic):
    """Losses of two algorithms on adult: underlying, and by every method."""
    methods = ("Platt", "isotonic", "IVAP", "CVAP")
    return index(
        {
            ("adult", name, "4:1"): {"underlying": (under, under)}
            | same(methods, (loss, loss))
            for name, (under, loss) in (("bagging", bagging), ("logistic", logistic))
        }
    )


def test_bagging_is_best_and_non_probabilistic():
    good = two_algorithms((0.5, 0.4), (0.6, 0.45))
    assert of("bagging is best")(good).verdict == "holds"
    assert of("non-probabilistic predictors")(good).verdict == "holds"
    assert of("predictive efficiency")(good).verdict == "holds"
    bad = two_algorithms((0.5, 0.45), (0.6, 0.4))
    assert of("bagging is best")(bad).verdict == "fails"
    assert of("non-probabilistic predictors")(bad).verdict == "fails"
    assert of("predictive efficiency")(bad).verdict == "fails"


def test_overhead_is_a_share_of_the_time_to_train():
    for seconds, verdict in ((0.5, "holds"), (2.0, "fails")):
        found = ResultIndex(
            result((data, "tree", "4:1"), m, (0.5, 0.5), seconds=seconds, training=10.0)
            for data in SIX
            for m in ("IVAP", "CVAP")
        )
        assert of("overhead")(found).verdict == verdict


def test_many_large_log_losses_are_a_quarter():
    def some(large):
        return figures(
            lambda data, _: {
                "underlying": (INF if data in large else 0.5, 0.4),
                "IVAP": (0.5, 0.4),
            }
        )

    assert of("large log losses")(some(SIX[:2])).verdict == "holds"
    assert of("large log losses")(some(())).verdict == "fails"


def test_curves_are_missing_where_losses_are_infinite():
    def losses(network, isotonic):
        return index(
            {
                ("adult", "neural network", "4:1"): {
                    "underlying": (network, 0.4),
                    "isotonic": (isotonic, 0.4),
                    "IVAP": (0.5, 0.4),
                }
            }
        )

    assert of("missing curves")(losses(INF, INF)).verdict == "holds"
    assert of("missing curves")(losses(0.5, INF)).verdict == "mixed"
    assert of("missing curves")(losses(0.5, 0.5)).verdict == "fails"


def test_tiny_sets_count_losses_and_clear_differences():
    def tiny(ivap, error):
        return Studies(tiny=(TinySet("wine", "tree", 100, 0.5, ivap, 0.4, error),))

    assert of("tiny sets")(tiny(0.4, 0.2)).verdict == "holds"
    assert of("tiny sets: significant")(tiny(0.4, 0.2)).verdict == "fails"
    assert of("tiny sets: significant")(tiny(0.4, 0.01)).verdict == "holds"
    assert of("tiny sets")(tiny(0.6, 0.2)).verdict == "fails"


def test_width_must_say_more_than_the_probability():
    def widths(low, beyond):
        tenths = ((0.1,) * 10,) * 4
        ends = (0.3, low, 0.4, 0.2, beyond, 0.3)
        kept = ((0.4,) * 3, (0.2,) * 3)
        return Studies(widths=(WidthStudy("german", "tree", *tenths, *ends, *kept),))

    assert of("width and reliability")(widths(0.1, 0.1)).verdict == "holds"
    assert of("width and reliability")(widths(0.1, -0.1)).verdict == "mixed"
    assert of("width and reliability")(widths(-0.1, -0.1)).verdict == "fails"


def test_tuning_hurts_if_miscalibration_grows():
    def arms(tuned, inner):
        return Studies(
            tuned=tuple(
                TuningStudy("german", "tree", arm, "CVAP", "", part, 0.5, 0.5, 0.5)
                for arm, part in (
                    ("calibrating folds", tuned),
                    ("inner cross-validation", inner),
                    ("fixed", 0.0),
                )
            )
        )

    assert of("tuning")(arms(0.01, 0.001)).verdict == "holds"
    assert of("tuning")(arms(0.002, 0.001)).verdict == "fails"
    checked = Validity("", 20, 9, (Group(0.5, 0.6, 9, 1.0),), 1.0, 1e-4)
    both = replace(arms(0.002, 0.001), tuned_validity=(checked,))
    assert of("tuning")(both).verdict == "mixed"
