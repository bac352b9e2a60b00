"""Statements: whose claim each one is, where it stands, and in which words.

In the order of the paper, numbered as in its long version (arXiv 1511.00213). A note is
a remark of the authors in the source of that version, which it does not print. What
they only asked there is no claim of theirs: it is among what was asked further.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

PAPER, NOTE, FURTHER = "the paper", "the authors' notes", "asked further"
SOURCES = (PAPER, NOTE, FURTHER)


@dataclass(frozen=True, slots=True)
class Paper:
    """What is reproduced."""

    authors: str
    title: str
    venue: str
    long_title: str
    long_venue: str


REPRODUCED = Paper(
    "Vladimir Vovk, Ivan Petej, and Valentina Fedorova",
    "Large-scale probabilistic predictors with and without guarantees of validity",
    "Advances in Neural Information Processing Systems 28 (NIPS 2015)",
    "Large-scale probabilistic prediction with and without validity guarantees",
    "arXiv:1511.00213, 2015",
)


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of the paper, or a question of ours, by the name of its claim."""

    claim: str
    source: str
    place: str = ""
    quote: str = ""


# The name of a claim and its place, then the paper's words, if it has any for it.
_PRINTED = """
validity | Abstract; Section 1; Proposition 1
    automatically enjoys a property of validity (perfect calibration) … There is
    a selector S such that P_S is perfectly calibrated for Y
computation time | Abstract; Section 1; Proposition 2
    is computationally efficient … the computational overhead of extracting
    probabilistic predictions consists of sorting (which takes time O(n log n),
    where n is the number of observations) and other computations taking time
    O(n) … Its application to each test object takes time O(log k).
width of the bounds | Abstract
    imprecise (in practice, almost precise for large data sets) probabilities
more accurate | Abstract
    When these imprecise probabilities are merged into precise probabilities,
    the resulting predictors, while losing the theoretical property of perfect
    calibration, are consistently more accurate than the existing methods in
    empirical studies.
isotonic miscalibrated | Section 1, as an observation of others
    the method of isotonic regression often produces miscalibrated probability
    predictions
isotonic overfits | Section 1, as reported by others
    isotonic regression is more prone to overfitting than Platt's scaling when
    data is scarce
CVAP is calibrated | Section 1
    Validity (in the form of perfect calibration) is satisfied by IVAPs
    automatically, and the experimental results reported in this paper suggest
    that it is inherited by CVAPs.
predictive efficiency | Section 1
    Predictive efficiency is determined by the predictive efficiency of the
    underlying learning algorithms
overhead | Section 1
    Computational efficiency is, again, determined by the computational
    efficiency of the underlying algorithm
decisions | Section 1
    probabilities, in the spirit of Bayesian decision theory, can be easily
    combined with utilities to produce optimal decisions
CVAP outperforms | Section 1; Section 7
    CVAPs consistently outperform the two existing methods … the advantage of
    CVAPs is in their good empirical performance
limit of a sigmoid | Section 5.1
    the Bayes log loss is 72.13%, whereas the best loss achievable by a sigmoid
    is 81.13%
SVM and sigmoid | Section 5.1
    any sigmoid will be a poor calibrator unless the prediction problem is very
    easy
Platt is finite | Section 5.2
    it never suffers an infinite loss when using the log loss function
no information | Section 6
    in order for the minimax no-information predictor that always predicts
    p := 1/2 to suffer loss 1
lack of calibration | Section 6
    it is well known that lack of calibration increases the loss as measured by
    loss functions such as log loss and Brier loss
merging | Section 6
    the Brier-minimax procedure leads to virtually identical empirical results
typical | Section 6
    the picture that we observe is typical for other data sets as well
missing curves | Section 6
    infinite (such as many results for isotonic regression and neural networks
    under log loss)
figures: isotonic infinite | Section 5.2; Section 6
    we can expect to get an infinite log loss when the test set becomes large
    enough … In the case of log loss, isotonic regression often suffers infinite
    losses
SVM: one finite loss | Section 6, on Figure 1
    only one of the log losses for SVM is finite
figures: the lowest line | Section 6, on Figures 1 to 10
    The CVAP lines tend to be at the bottom in all plots; experiments with other
    data sets also confirm this.
all: good on large sets | Section 6
    it often leads to good empirical results on larger data sets
all: bad for bagging | Section 6
    it can also lead to very poor results, as in the case of “J48 bagging” (for
    IVAP, Platt, and Isotonic)
bagging is best | Section 6, on Figures 1 and 2
    the underlying algorithm that achieves the best performance
crossing | Section 6
    The first reason [applying cross-over] is undoubtedly important for both
    loss functions
regularisation and log loss | Section 6
    [The extra regularization used in IVAPs is undoubtedly important] for the
    log loss function.
regularisation and Brier loss | Section 6
    The second reason [regularization] plays a smaller role for Brier loss for
    relatively large data sets
figures: isotonic, large sets | Section 6, on Figure 2
    the curves for Isotonic and IVAP are very close to each other
figures: isotonic, small sets | Section 1; Section 6
    a regularized version of the procedure …, which helps them resist
    overfitting … IVAPs are consistently better for smaller data sets even when
    using Brier loss.
tables: isotonic infinite | Table 1, the column IR
tables: IVAP and isotonic | Section 6, on Table 2
    They are consistently better for IVAP than for IR (isotonic regression).
tables: IVAP and Platt | Tables 1 and 2, the columns Platt and IVAP
tables: CVAP and IVAP | Tables 1 and 2, the columns IVAP and CVAP
tiny sets | Section 6, on nine very small data sets
    consistently (in 52 cases out of the 54 using Brier loss) better
tiny sets: significant | Section 6, on nine very small data sets
    usually significantly better
stability | Section 6, additional results
    The CVAP results are still at the bottom of the plots and very stable
all: unstable | Section 6, additional results
    the values at the all column are still particularly unstable
German credit: difficult | Section 6, additional results, on Figures 11 and 12
    much more difficult, and all results … are poor and somewhat mixed
German credit: stable | Section 6, additional results, on Figures 11 and 12
    CVAPs and IVAPs produce stable results
German credit | Section 6, additional results, on Figures 11 and 12
    and avoid the occasional bad failures characteristic of the alternative
    calibration methods
5 and 10 folds | Section 6, additional results, on Figures 13 and 14
    There is not much difference between 5 and 10 folds for most underlying
    algorithms
logistic deteriorates | Section 6, additional results, on Figures 13 and 14
    logistic regression behaves unusually in that its performance deteriorates
    as the size of the proper training set increases
width and reliability | Section 7
    the distance between them provides information about the reliability of the
    merged probability prediction
"""
_NOTES = """
non-probabilistic predictors | Section 1
    the best (as measured by standard loss functions) results are obtained not
    by those methods but by non-probabilistic predictors combined with a
    calibration method
deficiency | Section 4
    We need to check how small it is.
entropies | Section 6
    the behaviour of the log loss entropy (i.e., Shannon entropy) is
    intermediate between the Brier entropy (i.e., Gini index) and the square
    root of the Brier entropy
large log losses | Section 6
    many prediction algorithm suffer disproportionately large log losses (as
    compared to their expected values)
SVM scores | Section 6
    We then apply the other calibration methods on top of those probability
    predictions, which is equivalent to applying them to the original SVM scores.
all: good for isotonic | Section 6
    the “all” mode often produces best results for isotonic regression
covertype in file order | Section 6, plans
    It gives, however, awful results; not exchangeable.
"""
_FURTHER = """
tuning | Asked in the authors' notes, Section 3
    we need to explore empirically whether the calibration of CVAPs suffers when
    we do so (which it might well do)
pooled CVAP | Asked in the authors' notes, Section 3, “Isotonising the centre”
pooled CVAP, weight K | Asked in the authors' notes, Section 3, “Isotonising the centre”
two steps | Asked in the authors' notes, Section 6, plans
    use a 2-step procedure of merging instead of the 1-step procedure
many classes | Asked in the authors' notes, Section 6, plans
    To apply CVAPs to multi-class data sets, merge their predictions using one
    of the standard methods of pairwise coupling
three equal parts | Asked in the authors' notes, Section 6, plans
    This looks the cleanest comparison of the 3 calibration methods. The data
    sets can be split into 3 equal parts
figures: CVAP and IVAP | Asked here
figures: IVAP and Platt | Asked here
Platt on log-odds and IVAP | Asked here
Platt on log-odds and CVAP | Asked here
bounds beyond crossing | Asked here
one model | Asked here
validity broken on purpose | Asked here
"""


def _read(text: str, source: str) -> list[Statement]:
    """Read claims and places, and the quotations that are indented below them."""
    found: list[Statement] = []
    for line in text.strip().splitlines():
        if line.startswith(" "):
            quote = f"{found[-1].quote} {line.strip()}".strip()
            found[-1] = replace(found[-1], quote=quote)
        else:
            name, place = line.split(" | ")
            found.append(Statement(name, source, place))
    return found


STATEMENTS = {
    one.claim: one
    for one in (
        *_read(_PRINTED, PAPER),
        *_read(_NOTES, NOTE),
        *_read(_FURTHER, FURTHER),
    )
}
