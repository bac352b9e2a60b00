"""Every claim, judged on records made by hand for which the verdict is known."""

import math
from dataclasses import replace

import pytest

from experiments.paper import claims
from experiments.paper.claims import LARGE_SETS, NOTE, PAPER, SMALL_SETS, STATEMENTS
from experiments.paper.results import ResultIndex, training_rows
from experiments.paper.run import PairedError, Unit
from experiments.paper.studies import Studies
from experiments.paper.studies.artificial_data import SvmRun, Timing
from experiments.paper.studies.many_classes import ManyClasses
from experiments.paper.studies.tiny_sets import TinySet
from experiments.paper.studies.tuning import TuningStudy
from experiments.paper.studies.validity import Group, Validity
from experiments.paper.studies.width_of_bounds import WidthStudy
from experiments.paper.tally import GRADES, VERDICTS, Case, Tally, combine
from made_records import SIX, figures, index, of, result, same

INF = math.inf
ALGORITHMS = ("tree", "bagging", "logistic", "naive Bayes", "neural network", "SVM")
LOWER, HIGHER = (0.4, 0.5), (0.5, 0.4)
INFINITE = (INF, 0.4)
PLACE = Unit("german", "tree", "4:1")


# Records: losses are pairs of log loss and Brier loss, or one number for both.


def both(**losses):
    """Losses of methods, the same in both kinds; IVAP at 0.5 besides."""
    named = {name.replace("_", " "): loss for name, loss in losses.items()}
    return {"IVAP": (0.5, 0.5)} | {
        m: x if isinstance(x, tuple) else (x, x) for m, x in named.items()
    }


def merged(gap):
    """IVAP merged for log loss, and for Brier loss with another log loss."""
    return {("IVAP", "log"): (0.4, 0.4), ("IVAP", "brier"): (0.4 + gap, 0.4)}


def two(first, second, ours, theirs):
    """Losses of two methods, the same in both kinds; CVAP and IVAP besides."""
    rest = same(("IVAP", "CVAP"), (0.5, 0.5))
    return rest | {first: (ours, ours), second: (theirs, theirs)}


def everywhere(losses, ratios=("4:1",), algorithm="tree"):
    """Six sets with these losses, or with those of a function of set and ratio."""
    of_set = losses if callable(losses) else lambda *_: losses
    return figures(of_set, ratios, algorithm)


def but(sets, other, losses):
    """Six sets with these losses, and some with others."""
    return everywhere(lambda data, _: other if data in sets else losses)


def tables(*rows, engine="Weka 3.9.7"):
    """Tables 1 and 2 with one row of losses for each algorithm, in their order."""
    return index(
        {
            ("adult-5000", algorithm, "4:1"): row
            for algorithm, row in zip(ALGORITHMS, rows, strict=False)
        },
        engine,
    )


def adult(**by_algorithm):
    """Adult at 4:1, by algorithm."""
    return index(
        {
            ("adult", name.replace("_", " "), "4:1"): losses
            for name, losses in by_algorithm.items()
        }
    )


def at_all(loss, algorithm="bagging"):
    """Losses of 0.40 at 1:1, 0.41 at 4:1, and as given in the column `all`."""
    by_ratio = {"1:1": 0.40, "4:1": 0.41, "all": loss}
    methods = ("Platt", "isotonic", "IVAP")
    return everywhere(
        lambda _, ratio: same(methods, (by_ratio[ratio],) * 2),
        tuple(by_ratio),
        algorithm,
    )


def moved(cvap, ivap):
    """Six sets at two ratios between which two methods change so much."""
    return everywhere(
        lambda _, ratio: both(
            CVAP=0.4 + cvap * (ratio == "4:1"), IVAP=0.5 + ivap * (ratio == "4:1")
        ),
        ("1:1", "4:1"),
    )


def wide(method, *losses, algorithm="logistic"):
    """Adult permuted, with losses at 1:1, 4:1 and 9:1."""
    return index(
        {
            ("adult-permuted", algorithm, ratio): both(**{method: loss})
            for ratio, loss in zip(("1:1", "4:1", "9:1"), losses, strict=True)
        }
    )


def german(**losses):
    base = {"IVAP": 0.8, "CVAP": 0.8, "Platt": 0.9}
    return index({("german", "tree", "4:1"): both(**base | losses)})


def german_among_others(level, others):
    """German credit and the others at two levels; Platt moves, isotonic is infinite."""

    def losses(data, ratio):
        at = level if data == "german" else others
        far, best = at + 0.1 * (ratio == "4:1"), "CVAP" if ratio == "1:1" else "Platt"
        known = both(Platt=far, isotonic=(INF, far), IVAP=at + 0.01, CVAP=at + 0.005)
        return known | both(**{"IVAP": at + 0.01, best: at - 0.01})

    return everywhere(losses, ("1:1", "4:1"))


GOOD, BAD = ((0.5, 0.4), (0.6, 0.45)), ((0.5, 0.45), (0.6, 0.4))  # bagging, logistic


def curves(network, isotonic):
    """Adult by a neural network: its own loss, and that of isotonic regression."""
    losses = both(underlying=network, isotonic=isotonic)
    return index({("adult", "neural network", "4:1"): losses}, "Weka 3.9.7")


def infinite_on(sets, method):
    """Six sets, on some of which a method has an infinite log loss."""
    return but(sets, both(**{method: (INF, 0.4)}), both(**{method: 0.4}))


def one_svm(*finite):
    """Adult, SVM at three ratios, at some of which isotonic regression is finite."""
    return index(
        {
            ("adult", "SVM", ratio): both(
                isotonic=(0.5 if ratio in finite else INF, 0.4)
            )
            for ratio in ("1:1", "4:1", "all")
        },
        "Weka 3.9.7",
    )


def on_six(*methods):
    """Six sets with results of methods: a name, and fields of the result."""
    return ResultIndex(
        result(
            (data, "tree", "4:1"), method, fields.pop("losses", (0.5, 0.5)), **fields
        )
        for data in SIX
        for method, fields in ((m, dict(f)) for m, f in methods)
    )


def calibrated(ivap, cvap, isotonic=(0.01, 0.001)):
    """Six sets with miscalibrations and p-values of three methods."""
    parts = {"IVAP": ivap, "CVAP": cvap, "isotonic": isotonic}
    return on_six(*((m, {"miscalibration": x, "p": p}) for m, (x, p) in parts.items()))


def refuted(platt_loss, platt_part):
    """Six sets on which a test refutes Platt."""
    return on_six(
        ("IVAP", {"losses": (0.5, 0.40), "miscalibration": 0.01, "p": 0.5}),
        (
            "Platt",
            {"losses": (0.5, platt_loss), "miscalibration": platt_part, "p": 0.001},
        ),
    )


def widths(many, few):
    return ResultIndex(
        result((data, "tree", ratio), "IVAP", (0.5, 0.5), width=width)
        for data in SIX
        for ratio, width in (("1:1", many), ("4:1", few))
    )


def deficient(ivap, cvap):
    """Six sets whose test rows have such shares of negative deficiencies."""
    shares = {"IVAP": ivap, "CVAP": cvap}
    return on_six(*((m, {"deficiency": 0.1, "negative": x}) for m, x in shares.items()))


def overhead(seconds):
    return on_six(
        *((m, {"seconds": seconds, "training": 10.0}) for m in ("IVAP", "CVAP"))
    )


def two_algorithms(bagging, logistic):
    """Losses of two algorithms on adult: underlying, and by every method."""
    methods = ("Platt", "isotonic", "IVAP", "CVAP")
    return adult(
        bagging=both(underlying=bagging[0]) | same(methods, (bagging[1],) * 2),
        logistic=both(underlying=logistic[0]) | same(methods, (logistic[1],) * 2),
    )


def checked(how, k, p_value):
    return Validity(how, k, 1_000, (Group(0.5, 0.5, 1_000, 0.0),), 1.0, p_value)


def valid(*p_values, how="exchangeable"):
    return Studies(
        validity=tuple(checked(how, k, p) for k, p in enumerate(p_values, 20))
    )


def machines(near, ivap):
    return Studies(machines=(SvmRun(6_400, near, 0.72, 0.80, 0.75, ivap),))


def timed(*last):
    """Times of np.sort, fit, fit of sorted scores and query, for 100,000 scores."""

    def timing(k, sort, fit, ordered, query):
        return Timing(k, sort, fit, ordered, fit, fit, query, None, None, 1e-3)

    first = timing(1_000, 1e-5, 1e-4, 1e-4, 1e-9)
    return Studies(timings=(first, timing(100_000, *last)))


def many(cvap, underlying):
    """Digits and one tree, IVAP at 0.5; log and Brier losses of the others."""
    losses = {("underlying", ""): underlying}
    for way in ("ovo", "ovr"):
        losses |= {("IVAP", way): (0.5, 0.5), ("CVAP", way): cvap}
    return Studies(
        classes=tuple(
            ManyClasses("digits", 10, "tree", *names, *pair, 0.9, 1.0)
            for names, pair in losses.items()
        )
    )


def tiny(ivap, error):
    return Studies(tiny=(TinySet("wine", "tree", 100, 0.5, ivap, 0.4, error),))


def correlated(low, beyond):
    tenths, kept = ((0.1,) * 10,) * 4, ((0.4,) * 3, (0.2,) * 3)
    ends = (0.3, low, 0.4, 0.2, beyond, 0.3)
    return Studies(widths=(WidthStudy("german", "tree", *tenths, *ends, *kept),))


def tuned(calibrating, inner, **others):
    arms = {
        "calibrating folds": calibrating,
        "inner cross-validation": inner,
        "fixed": 0.0,
    }
    studies = Studies(
        tuned=tuple(
            TuningStudy("german", "tree", arm, "CVAP", "", part, 0.5, 0.5, 0.5)
            for arm, part in arms.items()
        )
    )
    return replace(studies, **others)


CROSSED = same(("Platt", "IVAP"), (0.5, 0.5)) | {
    "CVAP": (0.4, 0.4),
    "cross Platt": (0.4, 0.4),
    "isotonic": (INF, 0.5),
    "cross isotonic": (0.4, 0.4),
}
RIVALS = (
    *("cross isotonic dummies", "cross Platt log-odds", "cross isotonic"),
    "cross underlying",
)
LOW, HIGH = same(("IVAP", "CVAP"), (0.4, 0.4)), same(("IVAP", "CVAP"), (0.6, 0.6))
OTHERS = same(("Platt", "isotonic", "underlying", "Platt log-odds"), (0.5, 0.5))
ORDERS = {  # claims that the first methods' loss is no larger than the second's
    "more accurate": (("IVAP", "CVAP"), ("Platt", "isotonic")),
    "CVAP outperforms": (("CVAP",), ("Platt", "isotonic")),
    "decisions": (("CVAP",), ("underlying",)),
    "isotonic overfits": (("Platt",), ("isotonic",)),
    "figures: isotonic, small sets": (("IVAP",), ("isotonic",)),
    "figures: CVAP and IVAP": (("CVAP",), ("IVAP",)),
    "figures: IVAP and Platt": (("IVAP",), ("Platt",)),
    "figures: the lowest line": (("CVAP",), ("isotonic", "IVAP")),
    "Platt on log-odds and IVAP": (("IVAP",), ("Platt log-odds",)),
    "Platt on log-odds and CVAP": (("CVAP",), ("Platt log-odds",)),
    "pooled CVAP": (("CVAP pooled",), ("CVAP",)),
    "pooled CVAP, weight K": (("CVAP pooled, weight K",), ("CVAP",)),
    "one model": (("CVAP one model",), ("CVAP",)),
    "two steps": (("CVAP log, then Brier", "CVAP Brier, then log"), ("CVAP",)),
    "bounds beyond crossing": (("CVAP",), RIVALS),
}


@pytest.mark.parametrize("name", ORDERS)
def test_each_order_holds_or_fails_with_the_losses(name):
    ours, theirs = ORDERS[name]
    for loss, verdict in ((0.4, "holds"), (0.6, "fails")):
        losses = (
            {"IVAP": (0.5, 0.5)} | same(theirs, (0.5, 0.5)) | same(ours, (loss,) * 2)
        )
        assert of(name)(everywhere(losses)).verdict == verdict


@pytest.mark.parametrize("name", ORDERS)
def test_one_contrary_set_makes_an_order_mixed(name):
    ours, theirs = ORDERS[name]
    rest = {"IVAP": (0.5, 0.5)} | same(theirs, (0.5, 0.5))
    lower, higher = (rest | same(ours, (loss,) * 2) for loss in (0.4, 0.6))
    claim = of(name)(but({"german"}, higher, lower))
    by_algorithm = name.startswith("Platt on")
    assert claim.verdict == ("holds" if by_algorithm else "mixed")
    assert by_algorithm or "german 0/" in claim.evidence


@pytest.mark.parametrize(
    ("name", "records", "verdict"),
    [
        ("merging", merged(0.0019), "holds"),
        ("merging", merged(0.01), "mixed"),
        ("crossing", CROSSED, "holds"),
        ("crossing", CROSSED | both(cross_Platt=0.6), "mixed"),
        ("regularisation and log loss", both(isotonic=INFINITE), "holds"),
        ("regularisation and log loss", both(isotonic=(0.5, 0.4)), "not run"),
        ("regularisation and Brier loss", both(isotonic=0.501, CVAP=0.45), "holds"),
        ("regularisation and Brier loss", both(isotonic=0.7, CVAP=0.45), "fails"),
        ("figures: isotonic, large sets", both(isotonic=0.501), "holds"),
        ("figures: isotonic, large sets", both(isotonic=0.45), "fails"),
        ("Platt is finite", both(Platt=0.5), "holds"),
        ("Platt is finite", both(Platt=(INF, 0.4)), "fails"),
        ("typical", OTHERS | LOW | both(CVAP=0.4), "holds"),
        ("typical", OTHERS | HIGH, "fails"),
        ("figures: isotonic infinite", both(isotonic=INFINITE), "holds"),
        ("figures: isotonic infinite", both(isotonic=0.4), "fails"),
        ("large log losses", both(underlying=INFINITE), "holds"),
        ("large log losses", both(underlying=0.4), "fails"),
    ],
)
def test_losses_on_six_sets_decide(name, records, verdict):
    assert of(name)(everywhere(records)).verdict == verdict


@pytest.mark.parametrize(
    ("name", "records", "verdict"),
    [
        ("typical", but({"bank"}, OTHERS | HIGH, OTHERS | LOW), "mixed"),
        ("figures: isotonic infinite", infinite_on(SIX[:3], "isotonic"), "holds"),
        ("figures: isotonic infinite", infinite_on(SIX[:2], "isotonic"), "mixed"),
        ("large log losses", infinite_on(SIX[:2], "underlying"), "holds"),
        (
            "tables: isotonic infinite",
            tables(both(isotonic=INFINITE), both(isotonic=INFINITE)),
            "holds",
        ),
        (
            "tables: isotonic infinite",
            tables(both(isotonic=INFINITE), both(isotonic=0.5)),
            "mixed",
        ),
        ("tables: isotonic infinite", tables(both(isotonic=0.5)), "fails"),
        ("SVM: one finite loss", one_svm("all"), "holds"),
        ("SVM: one finite loss", one_svm(), "mixed"),
        ("SVM: one finite loss", one_svm("all", "4:1"), "fails"),
        ("missing curves", curves(INFINITE, INFINITE), "holds"),
        ("missing curves", curves(0.5, INFINITE), "mixed"),
        ("missing curves", curves(0.5, 0.5), "fails"),
        ("stability", moved(0.01, 0.03), "holds"),
        ("stability", moved(0.03, 0.01), "fails"),
        ("all: unstable", at_all(0.45), "holds"),
        ("all: unstable", at_all(0.30), "holds"),
        ("all: unstable", at_all(0.405), "fails"),
        ("all: good for isotonic", at_all(0.39), "holds"),
        ("all: good for isotonic", at_all(0.42), "fails"),
        ("all: good on large sets", at_all(0.40), "holds"),
        ("all: good on large sets", at_all(0.42), "fails"),
        ("all: bad for bagging", at_all(0.42), "holds"),
        ("all: bad for bagging", at_all(INF), "holds"),
        ("all: bad for bagging", at_all(0.405), "fails"),
        ("all: bad for bagging", at_all(0.42, "tree"), "not run"),
        ("5 and 10 folds", wide("CVAP", 0.5, 0.4, 0.401), "holds"),
        ("5 and 10 folds", wide("CVAP", 0.4, 0.4, 0.39), "fails"),
        ("logistic deteriorates", wide("IVAP", 0.4, 0.4, 0.41), "holds"),
        ("logistic deteriorates", wide("IVAP", 0.4, 0.4, 0.4), "fails"),
        (
            "logistic deteriorates",
            wide("IVAP", 0.4, 0.4, 0.41, algorithm="tree"),
            "not run",
        ),
        ("German credit", german(isotonic=(INF, 0.8)), "holds"),
        ("German credit", german(isotonic=0.9), "mixed"),
        ("German credit", german(isotonic=(INF, 0.8), IVAP=(1.2, 0.9)), "fails"),
        ("German credit: stable", german_among_others(0.7, 0.4), "holds"),
        ("German credit: difficult", german_among_others(0.7, 0.4), "holds"),
        ("German credit: difficult", german_among_others(0.4, 0.7), "mixed"),
        ("width of the bounds", widths(0.01, 0.02), "holds"),
        ("width of the bounds", widths(0.02, 0.01), "mixed"),
        ("width of the bounds", widths(0.1, 0.2), "mixed"),  # not precise
        ("width of the bounds", widths(0.2, 0.1), "fails"),
        ("deficiency", deficient(0.0, 0.0), "holds"),
        ("deficiency", deficient(0.0, 0.25), "mixed"),  # IVAP has none
        ("deficiency", deficient(0.1, 0.1), "fails"),
        ("CVAP is calibrated", calibrated((0.02, 0.001), (0.01, 0.5)), "holds"),
        ("CVAP is calibrated", calibrated((0.02, 0.5), (0.01, 0.001)), "mixed"),
        ("CVAP is calibrated", calibrated((0.01, 0.5), (0.02, 0.001)), "fails"),
        (
            "isotonic miscalibrated",
            calibrated((0, 0.5), (0, 0.5), (0.01, 0.001)),
            "holds",
        ),
        (
            "isotonic miscalibrated",
            calibrated((0, 0.5), (0, 0.5), (0.01, 0.5)),
            "fails",
        ),
        ("lack of calibration", refuted(0.45, 0.06), "holds"),
        ("lack of calibration", refuted(0.45, 0.0), "fails"),
        ("lack of calibration", calibrated((0, 0.5), (0, 0.5), (0, 0.5)), "not run"),
        ("overhead", overhead(0.5), "holds"),
        ("overhead", overhead(2.0), "fails"),
        ("bagging is best", two_algorithms(*GOOD), "holds"),
        ("bagging is best", two_algorithms(*BAD), "fails"),
        ("non-probabilistic predictors", two_algorithms(*GOOD), "holds"),
        ("non-probabilistic predictors", two_algorithms(*BAD), "fails"),
        ("predictive efficiency", two_algorithms(*GOOD), "holds"),
        ("predictive efficiency", two_algorithms(*BAD), "fails"),
        ("validity", valid(0.3, 0.02), "holds"),
        ("validity", valid(0.3, 0.001), "mixed"),
        (
            "validity broken on purpose",
            valid(0.0, 0.5, how="stratified split"),
            "holds",
        ),
        ("validity broken on purpose", valid(0.4, how="stratified split"), "fails"),
        ("limit of a sigmoid", Studies(), "holds"),
        ("entropies", Studies(), "holds"),
        ("no information", Studies(), "holds"),
        ("SVM and sigmoid", machines(0.9, 0.75), "holds"),
        ("SVM and sigmoid", machines(0.9, 0.77), "mixed"),
        ("SVM and sigmoid", machines(0.9, 0.8), "fails"),
        ("SVM and sigmoid", machines(0.5, 0.75), "not run"),  # too few rows
        ("computation time", timed(1e-3, 1e-2, 1e-2, 2e-9), "holds"),
        ("computation time", timed(1e-3, 1.0, 1e-2, 2e-9), "mixed"),  # a fit as k²
        ("computation time", timed(1e-3, 1e-2, 1.0, 2e-9), "mixed"),
        ("computation time", timed(1e-3, 1e-2, 1e-2, 1e-7), "mixed"),  # a query as k
        ("computation time", timed(1e-3, 1.0, 1.0, 1e-7), "fails"),
        ("many classes", many((0.4, 0.4), (0.6, 0.6)), "holds"),
        ("many classes", many((0.4, 0.4), (0.3, 0.3)), "mixed"),
        ("many classes", many((0.6, 0.6), (0.3, 0.3)), "fails"),
        ("tiny sets", tiny(0.4, 0.2), "holds"),
        ("tiny sets", tiny(0.6, 0.2), "fails"),
        ("tiny sets: significant", tiny(0.4, 0.01), "holds"),
        ("tiny sets: significant", tiny(0.4, 0.2), "fails"),
        ("width and reliability", correlated(0.1, 0.1), "holds"),
        ("width and reliability", correlated(0.1, -0.1), "mixed"),
        ("width and reliability", correlated(-0.1, -0.1), "fails"),
        ("tuning", tuned(0.01, 0.001), "holds"),
        ("tuning", tuned(0.002, 0.001), "fails"),
        (
            "tuning",
            tuned(0.002, 0.001, tuned_validity=(checked("", 20, 1e-4),)),
            "mixed",
        ),
    ],
)
def test_records_decide(name, records, verdict):
    assert of(name)(records).verdict == verdict


FIGURES = (
    "figures: CVAP and IVAP",
    "figures: IVAP and Platt",
    "figures: the lowest line",
    "figures: isotonic infinite",
)


@pytest.mark.parametrize(
    ("name", "records", "text"),
    [
        (
            "merging",
            everywhere(merged(0.01)),
            "largest 0.0100 (IVAP: adult, tree, 4:1)",
        ),
        (
            "figures: isotonic, large sets",
            everywhere(both(isotonic=0.45)),
            "difference is 0.0500 (adult, tree, 4:1)",
        ),
        ("stability", moved(0.01, 0.03), "Median ranges: CVAP 0.0100, IVAP 0.0300."),
        ("5 and 10 folds", wide("CVAP", 0.5, 0.4, 0.401), "logistic log loss +0.0010"),
        (
            "deficiency",
            deficient(0.0, 0.25),
            "IVAP 6 of 6, CVAP 0 of 6; where there is one, a median share of 25.0%",
        ),
        ("lack of calibration", refuted(0.45, 0.06), "So in 6 of 6. Of two"),
        ("lack of calibration", refuted(0.45, 0.06), "in 6 of 6 pairs"),
        ("lack of calibration", refuted(0.39, 0.06), "in 0 of 6 pairs"),
        (
            "regularisation and log loss",
            everywhere(both(isotonic=INFINITE)),
            "isotonic 6",
        ),
        ("limit of a sigmoid", Studies(), "0.7213 and 0.8113"),
    ],
)
def test_evidence_has_the_numbers(name, records, text):
    assert text in of(name)(records).evidence


@pytest.mark.parametrize(
    ("grade", "yes", "verdict"),
    [
        ("always", 20, "holds"),
        ("always", 19, "mixed"),
        ("always", 9, "fails"),
        ("consistently", 18, "holds"),
        ("consistently", 17, "mixed"),
        ("tends", 15, "holds"),
        ("tends", 14, "mixed"),
        ("tends", 7, "fails"),
        ("often", 10, "holds"),
        ("often", 9, "mixed"),
        ("often", 4, "fails"),
    ],
)
def test_words_of_the_paper_stand_for_shares_of_twenty_cases(grade, yes, verdict):
    assert GRADES[grade].verdict(yes, 20) == verdict


@pytest.mark.parametrize(
    ("verdicts", "verdict"),
    [
        (("holds", "holds", "not run"), "holds"),
        (("holds", "fails"), "mixed"),
        (("holds", "mixed"), "mixed"),
        (("mixed", "mixed"), "mixed"),
        (("fails", "mixed", "fails"), "fails"),
        (("not run",), "not run"),
    ],
)
def test_several_verdicts_fail_if_none_holds_and_one_fails(verdicts, verdict):
    assert combine(verdicts) == verdict


def test_a_claim_that_holds_on_the_whole_is_mixed_if_a_set_contradicts_it():
    yes, no = Case("bank", so=True), Case("bank", so=False)
    adult = (Case("adult", so=True),) * 8
    most = Tally((*adult, yes, no))
    assert most.verdict_everywhere(GRADES["tends"]) == "holds"
    split = Tally((*adult, no, no))
    assert split.verdict(GRADES["tends"]) == "holds"
    assert split.verdict_everywhere(GRADES["tends"]) == "mixed"
    assert split.by_place == "adult 8/8, bank 0/2"


@pytest.mark.parametrize(
    ("judge", "names"),
    [
        (of("tables: CVAP and IVAP"), ("CVAP", "IVAP")),
        (of("tables: IVAP and Platt"), ("IVAP", "Platt")),
        (of("tables: IVAP and isotonic"), ("IVAP", "isotonic")),
    ],
)
def test_order_in_the_tables_must_be_that_of_every_row(judge, names):
    lower, higher = (two(*names, *losses) for losses in (LOWER, HIGHER))
    assert judge(tables(lower, lower, lower)).verdict == "holds"
    assert judge(tables(lower, lower, higher)).verdict == "mixed"
    assert judge(tables(higher, higher, higher)).verdict == "fails"
    found = judge(ResultIndex([]))
    assert (found.verdict, found.evidence) == ("not run", "")


def test_evidence_counts_cases_and_names_where_they_are():
    lower, higher = (two("CVAP", "IVAP", *losses) for losses in (LOWER, HIGHER))
    told = of("tables: CVAP and IVAP")(tables(lower, higher, lower)).evidence
    assert "log loss 2 of 3 (median \N{MINUS SIGN}0.1000)" in told
    assert "tree 2/2, bagging 0/2, logistic 2/2" in told


def test_losses_equal_to_four_digits_are_no_larger():
    near = two("CVAP", "IVAP", 0.40004, 0.4)
    assert of("tables: CVAP and IVAP")(tables(near)).verdict == "holds"
    far = two("CVAP", "IVAP", 0.4001, 0.4)
    assert of("tables: CVAP and IVAP")(tables(far)).verdict == "fails"


@pytest.mark.parametrize("name", FIGURES)
def test_the_six_sets_say_how_many_of_them_were_run(name):
    judge = of(name)
    losses = same(("Platt", "isotonic", "IVAP", "CVAP"), (0.5, 0.5))
    whole = judge(figures(lambda *_: losses))
    assert "sets run" not in whole.evidence
    few = judge(figures(lambda data, _: losses if data in SIX[:2] else None))
    assert few.evidence.endswith(" 2 of 6 sets run.")
    assert judge(ResultIndex([])).evidence == ""


def test_algorithms_that_the_paper_lacks_count_only_where_it_does_not_ask():
    lower = same(("CVAP", "IVAP"), (0.4, 0.4))
    higher = same(("Platt", "isotonic", "Platt log-odds"), (0.5, 0.5))
    ours = {(data, "tree", "4:1"): lower | higher for data in SIX}
    boosted = {(data, "boosting", "4:1"): higher | {"IVAP": (0.9, 0.9)} for data in SIX}
    found = index(ours | boosted)
    told = of("figures: IVAP and Platt")(found)
    assert told.verdict == "holds"
    assert "log loss 6 of 6" in told.evidence
    assert "boosting 0/12" in of("Platt on log-odds and IVAP")(found).evidence
    only = figures(lambda *_: lower | higher, ("1:1", "4:1", "all"), "boosting")
    for name in (*FIGURES, "all: unstable", "stability"):
        assert of(name)(only).verdict == "not run"


def test_a_small_set_trains_on_less_than_ten_thousand_rows():
    assert all(training_rows(task) < 10_000 for task in SMALL_SETS)
    assert all(training_rows(task) >= 10_000 for task in LARGE_SETS)
    assert {*SMALL_SETS, *LARGE_SETS} == {*SIX}


def test_a_loss_that_is_infinite_anyway_says_nothing_of_all():
    def losses(data, ratio):
        isotonic = 0.5 if ratio == "1:1" else INF
        ours = {"1:1": 0.40, "4:1": 0.41, "all": 0.45}[ratio]
        known = {"IVAP": (ours, ours)}
        return known if data == "adult" else known | {"isotonic": (isotonic, ours)}

    found = of("all: bad for bagging")(
        figures(losses, ("1:1", "4:1", "all"), "bagging")
    )
    assert found.verdict == "holds"
    assert (
        "on adult, the paper's example, in 2 of 2; on all data sets in 17 of 17"
        in found.evidence
    )


def test_german_credit_says_what_it_leaves_out():
    """Section 6: "the reader might prefer to disregard" the column `all`."""
    split = {"IVAP": (0.8, 0.8), "CVAP": (0.8, 0.8), "isotonic": (INF, 0.8)}
    at_all = {"IVAP": (2.2, 1.14), "Platt": (0.9, 0.9), "isotonic": (INF, 0.9)}
    places = {("german", "tree", "4:1"): split, ("german", "tree", "all"): at_all}
    found = of("German credit")(index(places))
    assert found.verdict == "holds"
    assert "without the column 'all'" in found.holds_if
    assert "IVAP 0 of 2, CVAP 0 of 2." in found.evidence
    assert found.evidence.endswith(
        "Column 'all', excluded: Platt 0 of 2, isotonic 1 of 2, IVAP 2 of 2."
    )


def test_without_records_nothing_is_claimed():
    judged = claims.judge_all(ResultIndex([]))
    ran = {claim.name for claim in judged if claim.verdict != "not run"}
    # These need no data.
    assert ran == {"limit of a sigmoid", "entropies", "no information"}
    assert all(claim.evidence == "" for claim in judged if claim.name not in ran)
    assert len({claim.name for claim in judged}) == len(judged)
    assert all(claim.verdict in VERDICTS for claim in judged)


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
    tally = Tally(tuple(Case("", so=True, z=z) for z in (-2.5, -1.7, 10.0, None)))
    assert tally.clear == "; by more than 2 standard errors lower 1, higher 1"
    assert Tally((Case("", so=True),)).clear == ""


def test_errors_are_found_whichever_method_comes_first():
    found = ResultIndex(
        [result(("german", "tree", "4:1"), m, (0.4, 0.5)) for m in ("IVAP", "Platt")],
        [(PLACE, PairedError("IVAP", "Platt", 0.01, 0.02))],
    )
    for names in (("IVAP", "Platt"), ("Platt", "IVAP")):
        (pair,) = found.pairs([PLACE], "brier_loss", *names)
        assert pair.error == 0.02


def test_a_claim_about_weka_s_outputs_is_not_judged_by_other_engines():
    stand_ins = tables(both(isotonic=INFINITE), engine="scikit-learn 1.9.1")
    claim = of("tables: isotonic infinite")(stand_ins)
    assert claim.verdict == "not run"
    assert claim.evidence.endswith(
        "By scikit-learn 1.9.1; the claim is about Weka's outputs."
    )
    assert of("tables: CVAP and IVAP")(tables(both(CVAP=0.4))).verdict == "holds"


def test_three_equal_parts_are_judged_on_their_own_tasks():
    for loss, verdict in ((0.4, "holds"), (0.6, "fails")):
        losses = same(("Platt", "isotonic"), (0.5, 0.5)) | {"IVAP": (loss, loss)}
        table = {(f"{name}-thirds", "tree", "1:1"): losses for name in SIX}
        assert of("three equal parts")(index(table)).verdict == verdict


@pytest.mark.parametrize(
    ("task", "other"), [("covertype", "bank"), ("bank", "covertype")]
)
def test_file_order_is_awful_if_it_costs_more_than_random_order(task, other):
    for loss, verdict in ((0.9, "holds"), (0.5, "fails")):
        table = {
            (task, "tree", "4:1"): same(("CVAP", "IVAP"), (0.5, 0.5)),
            (f"{task}-file-order", "tree", "4:1"): same(("CVAP", "IVAP"), (loss, 0.5)),
        }
        assert of(f"{task} in file order")(index(table)).verdict == verdict
        assert of(f"{other} in file order")(index(table)).verdict == "not run"


def test_scores_of_machines_are_probabilities_where_platt_sees_no_difference():
    def found(on_margins):
        losses = {"IVAP": (0.5, 0.4), "Platt": (0.5, 0.4), "Platt log-odds": on_margins}
        return of("SVM scores")(index({(data, "SVM", "4:1"): losses for data in SIX}))

    assert found((0.5, 0.4)).verdict == "holds"
    said = found((0.51, 0.4))
    assert said.verdict == "mixed"  # to the others it makes no difference
    assert "log loss 0/6, Brier loss 6/6" in said.evidence


@pytest.mark.parametrize(
    ("judge", "mine"),
    [
        (of("Platt on log-odds and IVAP"), "IVAP"),
        (of("Platt on log-odds and CVAP"), "CVAP"),
    ],
)
def test_platt_on_log_odds_is_held_against_both(judge, mine):
    names = (mine, "Platt log-odds")
    lower, higher = (two(*names, *losses) for losses in (LOWER, HIGHER))
    assert judge(figures(lambda *_: lower)).verdict == "holds"
    assert judge(figures(lambda *_: higher)).verdict == "fails"
    linear = {(data, "logistic", "4:1"): higher for data in SIX[:1]}
    others = {(data, name, "4:1"): lower for data in SIX for name in ("tree", "SVM")}
    found = judge(index(linear | others))
    assert found.verdict == "mixed"  # one algorithm contradicts it
    assert "logistic 0/2" in found.evidence


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


@pytest.mark.parametrize("rival", RIVALS)
def test_no_crossed_rival_is_left_out(rival):
    losses = same(RIVALS, (0.6, 0.6)) | same(("IVAP", "CVAP"), (0.5, 0.5))
    found = figures(lambda *_: losses | {rival: (0.4, 0.4)})
    assert of("bounds beyond crossing")(found).verdict == "mixed"


def test_many_classes_say_which_wins_are_against_an_infinite_loss():
    found = of("many classes")(many((0.4, 0.4), (INF, 0.3)))
    assert found.verdict == "mixed"  # the Brier loss is higher
    assert "one-vs-one, underlying: log loss 1 of 1" in found.evidence
    assert found.evidence.endswith("infinite: an infinite loss 2.")
