"""The table of claims: whose each one is, its place, its words, and its judge.

In the order of the paper, numbered as in its long version (arXiv 1511.00213). A note is
a remark of the authors in the source of that version, which it does not print. What
they only asked there is not a claim of theirs: it is among the further questions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from experiments.paper.claims import cases, special
from experiments.paper.claims.cases import (
    ALMOST,
    AWFUL,
    BAYES,
    CERTAIN,
    CLOSE,
    EXISTING,
    GERMAN,
    NETWORK,
    ONCE,
    REFUTED,
    SHARE,
    SIGMOID,
    infinite,
)
from experiments.paper.claims.judges import (
    ALWAYS,
    CONSISTENTLY,
    ERRORS,
    EVERY_ALGORITHM,
    EVERY_SET,
    EXAMPLE,
    LARGE_SETS,
    MANY,
    OFTEN,
    SMALL_SETS,
    TENDS,
    TIE,
    anywhere,
    by_algorithm,
    in_figures,
    in_tables,
    of_paper,
    order,
    share,
    with_every_algorithm,
    with_permuted,
)
from experiments.paper.claims.special import DOUBLED, GATHERED, GROWTH, MARGIN
from experiments.paper.protocol import (
    BRIER_THEN_LOG,
    LOG_THEN_BRIER,
    ONE_MODEL,
    POOLED,
    POOLED_K,
)
from experiments.paper.run import WIDE
from experiments.paper.tasks import SIX, THIRDS

if TYPE_CHECKING:
    from collections.abc import Collection

    from experiments.paper.claims.judges import Grade, Judge
    from experiments.paper.results import ResultIndex
    from experiments.paper.run import Unit

PAPER, NOTE, FURTHER = "the paper", "the authors' notes", "asked further"
SOURCES = (PAPER, NOTE, FURTHER)


@dataclass(frozen=True, slots=True)
class Statement:
    """A row of the table."""

    name: str
    place: str  # where it stands in the paper
    quote: str  # in the paper's words; empty if it has none for it
    says: str  # in ours
    grade: Grade  # how often it must be so
    judge: Judge
    holds_if: str = ""  # by what it holds, if the grade's words do not say it
    sets: Collection[str] = ()  # those it is about, if some may not have been run


def in_thirds(index: ResultIndex) -> list[Unit]:
    """Return the places of sets in three equal parts."""
    return of_paper(index.units(THIRDS, ("1:1",)))


BRIER = ("brier_loss",)
in_six, in_small = in_figures(*SIX), in_figures(*SMALL_SETS)
better_than_existing = [
    (ours, theirs) for ours in ("IVAP", "CVAP") for theirs in EXISTING
]

PRINTED = (
    Statement(
        "validity",
        "Abstract; Section 1; Proposition 1",
        "automatically enjoys a property of validity (perfect calibration) … There is "
        "a selector S such that P_S is perfectly calibrated for Y",
        "Proposition 1: the bound that the label selects is calibrated.",
        ALWAYS,
        share(
            "{0.cases[0].value:,} draws each of a calibration set and a test row; "
            "p-values of the observed rates: {0.listed}.",
            cases.valid,
        ),
        f"p-values above {REFUTED} for all sizes of calibration sets",
    ),
    Statement(
        "computation time",
        "Abstract; Section 1; Proposition 2",
        "is computationally efficient … the computational overhead of extracting "
        "probabilistic predictions consists of sorting (which takes time O(n log n), "
        "where n is the number of observations) and other computations taking time "
        "O(n) … Its application to each test object takes time O(log k).",
        "An IVAP is fitted in time O(k log k), in O(k) if the scores are sorted, and "
        "answers a query in O(log k).",
        ALWAYS,
        special.time_grows,
        f"with ten times the scores, the time of a fit grows by at most {GROWTH} times "
        "the growth of np.sort in the same run, that of a fit of sorted scores by at "
        f"most {10 * GROWTH:.0f}, that of a query by at most {DOUBLED:.0f}",
    ),
    Statement(
        "width of the bounds",
        "Abstract",
        "imprecise (in practice, almost precise for large data sets) probabilities",
        "The bounds get narrower as the calibration set grows, and are almost precise "
        "for large data sets.",
        CONSISTENTLY,
        share(
            (
                (
                    "The mean width of IVAP's bounds grows from the most to the fewest "
                    "calibration rows in {0}; median widths {0.median:.4f} and "
                    "{few.median:.4f}. {0.by_place}."
                ),
                (
                    f"On large sets the mean width is at most {ALMOST} in {{1}}, "
                    "median {1.median:.4f}."
                ),
            ),
            cases.narrower(0),
            cases.almost_precise,
            few=cases.narrower(-1),
        ),
        f"narrower, and a mean width of at most {ALMOST}, each {CONSISTENTLY.words}",
        SIX,
    ),
    Statement(
        "more accurate",
        "Abstract",
        "When these imprecise probabilities are merged into precise probabilities, the "
        "resulting predictors, while losing the theoretical property of perfect "
        "calibration, are consistently more accurate than the existing methods in "
        "empirical studies.",
        "Tables and six data sets: the losses of IVAP and of CVAP are no larger than "
        "those of Platt on probabilities and of isotonic regression.",
        CONSISTENTLY,
        order(anywhere, *better_than_existing),
        f"for each pair of methods and each loss {CONSISTENTLY.words}{EVERY_SET}",
        SIX,
    ),
    Statement(
        "isotonic miscalibrated",
        "Section 1, as an observation of others",
        "the method of isotonic regression often produces miscalibrated probability "
        "predictions",
        "Isotonic regression often produces miscalibrated probabilities.",
        OFTEN,
        share(
            f"Refuted (p < {REFUTED}) in {{0}}; IVAP, merged, in {{ivap}}. "
            "{0.by_place}.",
            cases.refuted("isotonic"),
            ivap=cases.refuted("IVAP"),
        ),
        f"a test on the test rows refutes calibration {OFTEN.words}",
        SIX,
    ),
    Statement(
        "isotonic overfits",
        "Section 1, as reported by others",
        "isotonic regression is more prone to overfitting than Platt's scaling when "
        "data is scarce",
        "Small sets: Platt's Brier loss is no larger than that of isotonic regression.",
        TENDS,
        order(in_small, ("Platt", "isotonic"), kinds=BRIER),
        TENDS.words + EVERY_SET,
        SMALL_SETS,
    ),
    Statement(
        "CVAP is calibrated",
        "Section 1",
        "Validity (in the form of perfect calibration) is satisfied by IVAPs "
        "automatically, and the experimental results reported in this paper suggest "
        "that it is inherited by CVAPs.",
        "CVAP is no less calibrated than IVAP, whose calibration is proved.",
        TENDS,
        special.cvap_is_calibrated,
        f"its miscalibration is no larger {TENDS.words}, and a test refutes it no more "
        "often; bank in order of time, where nothing is calibrated, is left out",
        SIX,
    ),
    Statement(
        "predictive efficiency",
        "Section 1",
        "Predictive efficiency is determined by the predictive efficiency of the "
        "underlying learning algorithms",
        "Predictive efficiency is determined by the underlying algorithm.",
        TENDS,
        share(
            "Of two algorithms, the one with the lower Brier loss has the CVAP with "
            "the lower one in {0} pairs. {0.by_place}.",
            cases.same_order,
        ),
        f"two algorithms and their CVAPs are in the same order {TENDS.words}",
        SIX,
    ),
    Statement(
        "overhead",
        "Section 1",
        "Computational efficiency is, again, determined by the computational "
        "efficiency of the underlying algorithm",
        "The time of a CVAP is that of its underlying algorithm.",
        CONSISTENTLY,
        share(
            f"CVAP's calibration and prediction take at most {SHARE:.0%} of the time "
            "to train and score in {0}; median {0.median:.2%}, largest "
            "{0.largest.value:.1%}. {0.by_place}.",
            cases.overhead,
        ),
        f"the overhead is at most {SHARE:.0%} {CONSISTENTLY.words}",
        SIX,
    ),
    Statement(
        "decisions",
        "Section 1",
        "probabilities, in the spirit of Bayesian decision theory, can be easily "
        "combined with utilities to produce optimal decisions",
        "Decisions by CVAP cost no more than those by the underlying algorithm. (The "
        "mean cost over all ratios of two costs is the Brier loss, up to a factor.)",
        TENDS,
        order(in_six, ("CVAP", "underlying"), kinds=BRIER),
        TENDS.words + EVERY_SET,
        SIX,
    ),
    Statement(
        "CVAP outperforms",
        "Section 1; Section 7",
        "CVAPs consistently outperform the two existing methods … the advantage of "
        "CVAPs is in their good empirical performance",
        "Tables and six data sets: CVAP's loss is no larger than that of Platt on "
        "probabilities and of isotonic regression.",
        CONSISTENTLY,
        order(anywhere, *better_than_existing[2:]),
        f"for each method and each loss {CONSISTENTLY.words}{EVERY_SET}",
        SIX,
    ),
    Statement(
        "limit of a sigmoid",
        "Section 5.1",
        "the Bayes log loss is 72.13%, whereas the best loss achievable by a sigmoid "
        "is 81.13%",
        f"Section 5.1: log loss of {BAYES} bits for Bayes, {SIGMOID} for a sigmoid.",
        ALWAYS,
        share(
            "By numerical integration: {0.cases[0].value:.4f} and "
            "{0.cases[1].value:.4f}.",
            cases.near_limits,
        ),
        "both to four digits",
    ),
    Statement(
        "SVM and sigmoid",
        "Section 5.1",
        "any sigmoid will be a poor calibrator unless the prediction problem is very "
        "easy",
        "Section 5.1: with more data the margins of an SVM concentrate at -1 and 1, "
        "where a sigmoid cannot tell them apart.",
        ALWAYS,
        special.sigmoid_stays_behind,
        "IVAP's excess over Bayes is less than half of the sigmoid's, once "
        f"{GATHERED:.0%} of margins are within 0.1 of -1 or 1",
    ),
    Statement(
        "Platt is finite",
        "Section 5.2",
        "it never suffers an infinite loss when using the log loss function",
        "Platt's method never suffers an infinite log loss.",
        ALWAYS,
        share("Finite in {0}.", infinite("Platt", with_permuted, so=math.isfinite)),
    ),
    Statement(
        "no information",
        "Section 6",
        "in order for the minimax no-information predictor that always predicts "
        "p := 1/2 to suffer loss 1",
        "Always predicting 1/2 suffers loss 1, and every other constant suffers more "
        "if its label is chosen against it.",
        ALWAYS,
        share(
            "So in {0}: both losses at 999 probabilities.",
            cases.half_costs_one,
        ),
    ),
    Statement(
        "lack of calibration",
        "Section 6",
        "it is well known that lack of calibration increases the loss as measured by "
        "loss functions such as log loss and Brier loss",
        "Lack of calibration increases the loss.",
        ALWAYS,
        share(
            "So in {0}. Of two of these methods, the less calibrated one has the "
            "larger Brier loss in {pairs} pairs. {pairs.by_place}.",
            cases.refuted_and_costly,
            pairs=cases.less_calibrated_and_worse,
        ),
        "wherever a test refutes the calibration of Platt, isotonic regression or "
        "IVAP, isotonic regression of the test rows lowers the Brier loss",
        SIX,
    ),
    Statement(
        "merging",
        "Section 6",
        "the Brier-minimax procedure leads to virtually identical empirical results",
        "Merging for Brier loss leads to virtually the same results.",
        CONSISTENTLY,
        share(
            f"Within {CLOSE} in {{0}}; median {{0.median:.4f}}, largest "
            "{0.largest.value:.4f} ({0.largest.text}). {0.by_place}.",
            cases.mergings_close,
        ),
        f"within {CLOSE} {CONSISTENTLY.words}",
        SIX,
    ),
    Statement(
        "typical",
        "Section 6",
        "the picture that we observe is typical for other data sets as well",
        "The picture on adult (CVAP's loss no larger than that of IVAP, Platt and "
        "isotonic regression) is that on the other data sets.",
        ALWAYS,
        share(
            "{every.listed}.",
            cases.typical(*(task for task in SIX if task != EXAMPLE)),
            every=cases.typical(*SIX),
        ),
        f"CVAP's loss is no larger {TENDS.words} on each of the other sets",
        SIX,
    ),
    Statement(
        "missing curves",
        "Section 6",
        "infinite (such as many results for isotonic regression and neural networks "
        "under log loss)",
        "adult: many log losses of isotonic regression and of neural networks are "
        "infinite.",
        OFTEN,
        share(
            "Infinite: {all.by_place}.",
            infinite(
                "isotonic", cases.curves_of_example(), lambda _: "isotonic regression"
            ),
            infinite("underlying", cases.curves_of_example(NETWORK), by_algorithm),
        ),
        f"for each of the two {OFTEN.words}",
    ),
    Statement(
        "figures: isotonic infinite",
        "Section 5.2; Section 6",
        "we can expect to get an infinite log loss when the test set becomes large "
        "enough … In the case of log loss, isotonic regression often suffers infinite "
        "losses",
        "Six data sets: isotonic regression often suffers infinite log losses.",
        OFTEN,
        share("Infinite in {0} cases. {0.by_place}.", infinite("isotonic", in_six)),
        sets=SIX,
    ),
    Statement(
        "SVM: one finite loss",
        "Section 6, on Figure 1",
        "only one of the log losses for SVM is finite",
        "adult: one log loss of isotonic regression for SVM is finite.",
        ALWAYS,
        special.one_finite_loss,
        "exactly one column is finite; it is mixed if most are infinite",
    ),
    Statement(
        "figures: the lowest line",
        "Section 6, on Figures 1 to 10",
        "The CVAP lines tend to be at the bottom in all plots; experiments with other "
        "data sets also confirm this.",
        "Six data sets: the lines of CVAP tend to be at the bottom in all plots.",
        TENDS,
        special.lowest_line,
        TENDS.words + EVERY_SET,
        SIX,
    ),
    Statement(
        "all: good on large sets",
        "Section 6",
        "it often leads to good empirical results on larger data sets",
        "The column 'all' often leads to good results on larger data sets.",
        OFTEN,
        share(
            "The Brier loss of Platt, isotonic and IVAP at 'all' is no larger than the "
            "median of the other columns in {0}. {0.by_place}.",
            cases.at_all_no_larger(median, ONCE, *LARGE_SETS),
        ),
        sets=("adult", "bank"),
    ),
    Statement(
        "all: bad for bagging",
        "Section 6",
        "it can also lead to very poor results, as in the case of “J48 bagging” (for "
        "IVAP, Platt, and Isotonic)",
        "The column 'all' is very poor for bagging (Platt, isotonic, IVAP).",
        CONSISTENTLY,
        share(
            "The losses of Platt, isotonic and IVAP are larger at 'all' than in any "
            f"other column: on {EXAMPLE}, the paper's example, in {{example}}; on all "
            "data sets in {0}; median change of the Brier loss {0.change}. "
            "{0.by_place}.",
            cases.at_all_worst(*SIX),
            example=cases.at_all_worst(EXAMPLE),
        ),
        sets=SIX,
    ),
    Statement(
        "bagging is best",
        "Section 6, on Figures 1 and 2",
        "the underlying algorithm that achieves the best performance",
        "adult: bagged trees achieve the best performance of the six algorithms.",
        CONSISTENTLY,
        share(
            "Lowest loss of the algorithms in {0}. {0.by_place}.", cases.bagging_best
        ),
    ),
    Statement(
        "crossing",
        "Section 6",
        "The first reason [applying cross-over] is undoubtedly important for both loss "
        "functions",
        "Crossing is an important reason for the gain, for both losses.",
        TENDS,
        special.crossing,
        f"for each method and each loss {TENDS.words}",
        SIX,
    ),
    Statement(
        "regularisation and log loss",
        "Section 6",
        "[The extra regularization used in IVAPs is undoubtedly important] for the log "
        "loss function.",
        "For log loss regularisation is important.",
        ALWAYS,
        special.regularisation_and_log_loss,
        f"IVAP is finite {ALWAYS.words} in which isotonic is infinite",
        SIX,
    ),
    Statement(
        "regularisation and Brier loss",
        "Section 6",
        "The second reason [regularization] plays a smaller role for Brier loss for "
        "relatively large data sets",
        "For Brier loss on large sets regularisation matters less than crossing.",
        TENDS,
        share(
            "The loss changes less from isotonic to IVAP than from IVAP to CVAP in "
            "{0}; median changes {0.median:.4f} and {crossed.median:.4f}. "
            "{0.by_place}.",
            cases.steps_of_brier(0),
            crossed=cases.steps_of_brier(1),
        ),
        sets=LARGE_SETS,
    ),
    Statement(
        "figures: isotonic, large sets",
        "Section 6, on Figure 2",
        "the curves for Isotonic and IVAP are very close to each other",
        "Large sets: IVAP and isotonic are very close in Brier loss.",
        CONSISTENTLY,
        share(
            f"Brier losses differ by at most {CLOSE} in {{0}}; the largest difference "
            "is {0.largest.value:.4f} ({0.largest.text}). {0.by_place}.",
            cases.close_to_isotonic,
        ),
        f"within {CLOSE} {CONSISTENTLY.words}",
        LARGE_SETS,
    ),
    Statement(
        "figures: isotonic, small sets",
        "Section 1; Section 6",
        "a regularized version of the procedure …, which helps them resist overfitting "
        "… IVAPs are consistently better for smaller data sets even when using Brier "
        "loss.",
        "Small sets: IVAP is consistently better than isotonic in Brier loss.",
        CONSISTENTLY,
        order(in_small, ("IVAP", "isotonic"), kinds=BRIER),
        CONSISTENTLY.words + EVERY_SET,
        SMALL_SETS,
    ),
    Statement(
        "tables: isotonic infinite",
        "Table 1, the column IR",
        "",
        "Table 1: isotonic regression has an infinite log loss in every row.",
        ALWAYS,
        share(
            "Infinite for {0} algorithms. {0.by_place}.",
            infinite("isotonic", in_tables, by_algorithm),
        ),
    ),
    Statement(
        "tables: IVAP and isotonic",
        "Section 6, on Table 2",
        "They are consistently better for IVAP than for IR (isotonic regression).",
        "Table 2: IVAP is consistently better than isotonic regression.",
        CONSISTENTLY,
        order(in_tables, ("IVAP", "isotonic"), kinds=BRIER, by=by_algorithm),
    ),
    Statement(
        "tables: IVAP and Platt",
        "Tables 1 and 2, the columns Platt and IVAP",
        "",
        "Tables 1 and 2: IVAP's loss is no larger than that of Platt on probabilities.",
        ALWAYS,
        order(in_tables, ("IVAP", "Platt"), by=by_algorithm),
    ),
    Statement(
        "tables: CVAP and IVAP",
        "Tables 1 and 2, the columns IVAP and CVAP",
        "",
        "Tables 1 and 2: CVAP's loss is no larger than IVAP's.",
        ALWAYS,
        order(in_tables, ("CVAP", "IVAP"), by=by_algorithm),
    ),
    Statement(
        "tiny sets",
        "Section 6, on nine very small data sets",
        "consistently (in 52 cases out of the 54 using Brier loss) better",
        "Tiny sets, all rows train and calibrate: IVAP's Brier loss is no larger than "
        "that of isotonic regression (other sets than the nine of the authors).",
        CONSISTENTLY,
        share(
            "No larger in {0}. {0.by_place}. CVAP's with five folds no larger in "
            "{crossed}.",
            cases.tiny("ivap"),
            crossed=cases.tiny("cvap"),
        ),
    ),
    Statement(
        "tiny sets: significant",
        "Section 6, on nine very small data sets",
        "usually significantly better",
        "Tiny sets: IVAP is usually significantly better.",
        OFTEN,
        share("So in {0}. {0.by_place}.", cases.tiny_clearly),
        f"lower by more than {ERRORS} standard errors {OFTEN.words}",
    ),
    Statement(
        "stability",
        "Section 6, additional results",
        "The CVAP results are still at the bottom of the plots and very stable",
        "CVAP is very stable across the ratios.",
        TENDS,
        share(
            "The range of the loss over the ratios is no larger for CVAP than for IVAP "
            "in {0}. Median ranges: {ranges.medians}. {0.by_place}.",
            cases.cvap_moves_less,
            ranges=cases.ranges_of(*SIX, WIDE),
        ),
        f"no less stable than IVAP {TENDS.words}",
        SIX,
    ),
    Statement(
        "all: unstable",
        "Section 6, additional results",
        "the values at the all column are still particularly unstable",
        "The column 'all' is unstable for Platt, isotonic and IVAP.",
        TENDS,
        share(
            "The change of the Brier loss at 'all' exceeds the range of the other "
            "columns in {0}; it is an improvement in {better.yes}, and "
            "{0.largest.text}. {0.by_place}.",
            cases.at_all_far,
            better=cases.at_all_improved,
        ),
        f"a change larger than the range of the others {TENDS.words}",
        SIX,
    ),
    Statement(
        "German credit: difficult",
        "Section 6, additional results, on Figures 11 and 12",
        "much more difficult, and all results … are poor and somewhat mixed",
        "German credit is much more difficult: results are poor and mixed.",
        ALWAYS,
        special.german_is_difficult,
        "its median Brier loss of CVAP exceeds that of insurance, bank (permuted) and "
        "spambase, and no method is the best everywhere",
    ),
    Statement(
        "German credit: stable",
        "Section 6, additional results, on Figures 11 and 12",
        "CVAPs and IVAPs produce stable results",
        "German credit: IVAP and CVAP produce stable results.",
        TENDS,
        share(
            "The range of the loss over the ratios is no larger than that of Platt or "
            "of isotonic regression in {0}. {0.by_place}. Median ranges (an infinite "
            "loss has an infinite one): {ranges.medians}.",
            cases.german_moves_less,
            ranges=cases.ranges_of(GERMAN, infinite=True),
        ),
        f"no less stable than the less stable of Platt and isotonic {TENDS.words}",
    ),
    Statement(
        "German credit",
        "Section 6, additional results, on Figures 11 and 12",
        "and avoid the occasional bad failures characteristic of the alternative "
        "calibration methods",
        "German credit: IVAP and CVAP avoid the bad failures of the others.",
        ALWAYS,
        special.no_bad_failures,
        "without the column 'all' no loss of theirs exceeds that of always predicting "
        "1/2 (otherwise it fails), and some loss of Platt or isotonic does",
    ),
    Statement(
        "5 and 10 folds",
        "Section 6, additional results, on Figures 13 and 14",
        "There is not much difference between 5 and 10 folds for most underlying "
        "algorithms",
        "There is not much difference between 5 and 10 folds for most algorithms.",
        TENDS,
        share(
            "Change of CVAP's loss from 5 to 10 folds: {0.listed}.",
            cases.changes(
                lambda index: cases.panels(index, WIDE),
                ("CVAP",),
                ("4:1", "9:1"),
                lambda change: abs(change) <= CLOSE,
                lambda algorithm, _: algorithm,
            ),
        ),
        f"within {CLOSE} {TENDS.words}",
    ),
    Statement(
        "logistic deteriorates",
        "Section 6, additional results, on Figures 13 and 14",
        "logistic regression behaves unusually in that its performance deteriorates as "
        "the size of the proper training set increases",
        "Wide range: logistic regression deteriorates as its training set grows.",
        TENDS,
        share(
            "Change of the loss from 1:1 to 9:1: {0.listed}.",
            cases.changes(
                lambda _: [(WIDE, "logistic")],
                ("Platt", "IVAP", "CVAP"),
                ("1:1", "9:1"),
                lambda change: change > TIE,
                lambda _, method: method,
            ),
        ),
    ),
    Statement(
        "width and reliability",
        "Section 7",
        "the distance between them provides information about the reliability of the "
        "merged probability prediction",
        "The width of the bounds says how reliable the merged probability is, also "
        "beyond what the probability itself says.",
        TENDS,
        share(
            "Positive in {0} (median {0.median:.2f}), given p (1 - p) in {1} (median "
            "{1.median:.2f}). {1.by_place}. Leaving out the half with the widest "
            "bounds costs no more than leaving out the half with p nearest 1/2 in "
            "{reject}.",
            cases.width_tells("low", "correlation"),
            cases.width_tells("beyond_low", "beyond"),
            reject=cases.rejected_by_width,
        ),
        "the rank correlation of the width with the squared distance of p from "
        "isotonic regression of all test rows is positive (bootstrap interval of 95 "
        f"%), and so is what is left of it given p (1 - p), each {TENDS.words}",
    ),
)

NOTES = (
    Statement(
        "non-probabilistic predictors",
        "Section 1",
        "the best (as measured by standard loss functions) results are obtained not by "
        "those methods but by non-probabilistic predictors combined with a calibration "
        "method",
        "The best results are obtained by non-probabilistic predictors (trees, bagged "
        "trees, support vector machines) combined with a calibration method.",
        TENDS,
        share(
            "So in {0}. {0.by_place}. Lowest most often: {0.commonest}.",
            cases.best_not_probabilistic,
        ),
        sets=SIX,
    ),
    Statement(
        "deficiency",
        "Section 4",
        "We need to check how small it is.",
        "The deficiency log2(GM(1-p0) + GM(p1)) is in [0, 1]; how small is it?",
        ALWAYS,
        special.deficiency,
        "no test row is outside [0, 1]",
        SIX,
    ),
    Statement(
        "entropies",
        "Section 6",
        "the behaviour of the log loss entropy (i.e., Shannon entropy) is intermediate "
        "between the Brier entropy (i.e., Gini index) and the square root of the Brier "
        "entropy",
        "Shannon's entropy lies between the Gini index and its square root.",
        ALWAYS,
        share("So at {0} probabilities.", cases.between_ginis),
    ),
    Statement(
        "large log losses",
        "Section 6",
        "many prediction algorithm suffer disproportionately large log losses (as "
        "compared to their expected values)",
        "Many prediction algorithms suffer disproportionately large log losses.",
        MANY,
        share(
            "So in {0}, infinite in {infinite.yes}. {0.by_place}.",
            cases.uncalibrated(lambda log, brier: log > 1 > brier),
            infinite=cases.uncalibrated(lambda log, _: math.isinf(log)),
        ),
        "the uncalibrated log loss exceeds that of always predicting 1/2, while the "
        f"Brier loss does not, {MANY.words}",
        SIX,
    ),
    Statement(
        "SVM scores",
        "Section 6",
        "We then apply the other calibration methods on top of those probability "
        "predictions, which is equivalent to applying them to the original SVM scores.",
        "Calibrating the probabilities of an SVM is equivalent to calibrating its "
        "scores.",
        ALWAYS,
        share(
            "Isotonic regression, IVAP and CVAP see the order alone, which is the "
            "same. Platt's losses are equal in {1}. {1.by_place}.",
            cases.machines(by_order=True),
            cases.machines(),
        ),
        "so for all methods, with the losses of Platt equal to four digits",
        SIX,
    ),
    Statement(
        "all: good for isotonic",
        "Section 6",
        "the “all” mode often produces best results for isotonic regression",
        "The column 'all' often gives isotonic regression its best result.",
        OFTEN,
        share(
            "Lowest Brier loss at 'all' in {0}. {0.by_place}.",
            cases.at_all_no_larger(min, ("isotonic",), *SIX),
        ),
        sets=SIX,
    ),
    Statement(
        "covertype in file order",
        "Section 6, plans",
        "It gives, however, awful results; not exchangeable.",
        "covertype in file order gives awful results.",
        TENDS,
        share(
            "Log loss of CVAP in file order and in random order: {0.listed}.",
            cases.file_order,
        ),
        f"CVAP's log loss is larger by more than {AWFUL} bits {TENDS.words}",
    ),
)

CENTRE = "Asked in the authors' notes, Section 3, “Isotonising the centre”"
PLANS = "Asked in the authors' notes, Section 6, plans"
QUESTIONS = (
    Statement(
        "tuning",
        "Asked in the authors' notes, Section 3",
        "we need to explore empirically whether the calibration of CVAPs suffers when "
        "we do so (which it might well do)",
        "The calibration of CVAPs suffers from tuning on the calibrating folds.",
        OFTEN,
        special.tuning,
        f"its miscalibration is larger by more than {MARGIN} {OFTEN.words}, and "
        f"Proposition 1 is refuted (p-value below {CERTAIN}) for some size",
    ),
    Statement(
        "pooled CVAP",
        CENTRE,
        "",
        "One isotonic regression on all folds has a loss no larger than CVAP's.",
        TENDS,
        order(anywhere, (POOLED, "CVAP"), permuted=True),
        TENDS.words + EVERY_SET,
        SIX,
    ),
    Statement(
        "pooled CVAP, weight K",
        CENTRE,
        "",
        "The same with a new object that weighs K.",
        TENDS,
        order(anywhere, (POOLED_K, "CVAP"), permuted=True),
        TENDS.words + EVERY_SET,
        SIX,
    ),
    Statement(
        "two steps",
        PLANS,
        "use a 2-step procedure of merging instead of the 1-step procedure",
        "Merging in two steps, for one loss and then the other, is no worse.",
        TENDS,
        order(anywhere, (LOG_THEN_BRIER, "CVAP"), (BRIER_THEN_LOG, "CVAP")),
        f"for each order and each loss no larger than CVAP {TENDS.words}{EVERY_SET}",
        SIX,
    ),
    Statement(
        "many classes",
        PLANS,
        "To apply CVAPs to multi-class data sets, merge their predictions using one of "
        "the standard methods of pairwise coupling",
        "CVAP's multiclass loss is no larger than that of IVAP and of the underlying "
        "algorithm.",
        TENDS,
        special.many_classes,
        f"for each scheme, competing method and loss {TENDS.words}",
    ),
    Statement(
        "three equal parts",
        PLANS,
        "This looks the cleanest comparison of the 3 calibration methods. The data "
        "sets can be split into 3 equal parts",
        "Three equal parts: IVAP's loss is no larger than that of Platt on "
        "probabilities and of isotonic regression.",
        TENDS,
        order(in_thirds, *better_than_existing[:2]),
        f"for each method and each loss {TENDS.words}{EVERY_SET}",
    ),
    Statement(
        "figures: CVAP and IVAP",
        "Asked here",
        "",
        "Six data sets: CVAP's loss is no larger than IVAP's.",
        TENDS,
        order(in_six, ("CVAP", "IVAP"), permuted=True),
        TENDS.words + EVERY_SET,
        SIX,
    ),
    Statement(
        "figures: IVAP and Platt",
        "Asked here",
        "",
        "Six data sets: IVAP's loss is no larger than that of Platt on probabilities.",
        TENDS,
        order(in_six, ("IVAP", "Platt"), permuted=True),
        TENDS.words + EVERY_SET,
        SIX,
    ),
    Statement(
        "Platt on log-odds and IVAP",
        "Asked here",
        "",
        "IVAP's loss is no larger than that of Platt on log-odds or margins.",
        TENDS,
        order(with_every_algorithm, ("IVAP", "Platt log-odds"), by=by_algorithm),
        TENDS.words + EVERY_ALGORITHM,
        SIX,
    ),
    Statement(
        "Platt on log-odds and CVAP",
        "Asked here",
        "",
        "CVAP's loss is no larger than that of Platt on log-odds or margins.",
        TENDS,
        order(with_every_algorithm, ("CVAP", "Platt log-odds"), by=by_algorithm),
        TENDS.words + EVERY_ALGORITHM,
        SIX,
    ),
    Statement(
        "bounds beyond crossing",
        "Asked here",
        "",
        "CVAP's loss is no larger than that of crossed isotonic regression, crossed "
        "Platt on log-odds and the crossed underlying algorithm.",
        TENDS,
        order(
            anywhere,
            ("CVAP", "cross isotonic dummies"),
            ("CVAP", "cross Platt log-odds"),
            ("CVAP", "cross isotonic"),
            ("CVAP", "cross underlying"),
            brief=True,
        ),
        f"for each competing method {TENDS.words}{EVERY_SET}",
        SIX,
    ),
    Statement(
        "one model",
        "Asked here",
        "",
        "Five folds: one model of all rows, calibrated by the folds' scores, has a "
        "loss no larger than CVAP's.",
        TENDS,
        order(anywhere, (ONE_MODEL, "CVAP"), permuted=True),
        TENDS.words + EVERY_SET,
        SIX,
    ),
    Statement(
        "validity broken on purpose",
        "Asked here",
        "",
        "Without exchangeability it is not: one fixed calibration set, a stratified "
        "split, a shifted test row.",
        ALWAYS,
        share("{0.parts}.", cases.broken),
        f"each is detected (p-value below {CERTAIN}) for some size",
    ),
)
STATEMENTS = {
    statement.name: (source, statement)
    for source, group in zip(SOURCES, (PRINTED, NOTES, QUESTIONS), strict=True)
    for statement in group
}
