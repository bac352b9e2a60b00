"""Guarantees: what is and is not proven about bounds, stated in one place.

Reports, printouts and docs show exactly these sentences. The proof is Proposition 1 of
the paper: an inductive Venn-Abers predictor (IVAP) gives a pair of probabilities for
two classes, and the one that belongs to the true label is perfectly calibrated if the
calibration rows and the new row are exchangeable.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Guarantee:
    """Whether bounds, or predictions without bounds, have a proven guarantee.

    Attributes
    ----------
    proven : bool
        Whether it is proven; for bounds, that one of the two is calibrated.
    statement : str
        What is proven and for which data, or why it is not.

    Examples
    --------
    >>> import abers
    >>> abers.fit_rule([1, 2, 3], [0, 1, 0]).guarantee.proven
    True
    >>> print(abers.rules.fit_pooled_rule([1, 2], [0, 1], folds=[0, 1]).guarantee)
    Not proven: each fold has scores of its own model, and the proof is for one.
    """

    proven: bool
    statement: str

    def __str__(self) -> str:
        return f"{'Proven' if self.proven else 'Not proven'}: {self.statement}."


EXCHANGEABLE = "as long as new cases resemble the calibration cases (exchangeable data)"
PAIR = Guarantee(
    proven=True,
    statement=f"the bound that belongs to the true label is calibrated, {EXCHANGEABLE}",
)
GROUPS = Guarantee(
    proven=True,
    statement="within each group that has a rule of its own, the bound that belongs to "
    f"the true label is calibrated, {EXCHANGEABLE}",
)
MEAN = Guarantee(
    proven=True,
    statement="the value for the target that the case really has lies between the "
    f"bounds and is calibrated, {EXCHANGEABLE}",
)
WEIGHTED = Guarantee(
    proven=False,
    statement="the calibration cases have weights, and the proof is for weight 1",
)
OWN_WEIGHT = Guarantee(
    proven=True,
    statement="given the weight of each new case, the bound that belongs to its true "
    "label is calibrated, as long as the weights are known and cases are exchangeable "
    "but for them; without it, and for estimated weights, that is not proven",
)
ADJUSTED = Guarantee(
    proven=False,
    statement="the bounds were adjusted to another base rate, which is right only if "
    "P(score | label) is what it was at calibration",
)
CHOSEN_BY_LABELS = Guarantee(
    proven=False,
    statement="labels decide which groups have a rule of their own (minimum above 0)",
)
FOLDS = Guarantee(
    proven=False,
    statement="each fold has scores of its own model, and the proof is for one",
)
CROSS = Guarantee(
    proven=False,
    statement="a cross predictor merges rules whose models saw each other's "
    "calibration cases, and for few rows its bounds are not calibrated",
)
CLASSES = Guarantee(
    proven=False,
    statement="with more than two classes, the pairs of several questions with two "
    "answers each are put together; the proof is for each pair alone, as "
    "IVAPClassifier.predict_fold_bounds returns it for each class against the rest",
)
VECTOR = Guarantee(
    proven=True,
    statement="of the vectors of probabilities under each label that the case could "
    f"have, that of its true label is calibrated as a vector, {EXCHANGEABLE}; bounds "
    "are their least and greatest values, and for their mean nothing is proven",
)
STACKED = Guarantee(
    proven=False,
    statement="the probability is a mixture, and only the pair of its Venn-Abers rule, "
    "for two classes and one model, is proven to be calibrated",
)
PROTECTED = Guarantee(
    proven=True,
    statement="the total log loss is at most that of the base plus 1 bit, whatever the "
    "data and however late the labels; that the issued numbers are calibrated is not "
    "proven, and they have no bounds",
)
CURVE = Guarantee(
    proven=False,
    statement="a curve has no bounds, and its calibration is not proven",
)
UNKNOWN = Guarantee(proven=False, statement="the rule behind these bounds is not known")
