"""Records made by hand, for claims and figures whose outcome is known."""

import math

from experiments.paper import claims
from experiments.paper.results import ResultIndex
from experiments.paper.run import Finished, Result, Unit
from experiments.paper.studies import Studies

SIX = ("adult", "covertype", "insurance", "bank", "spambase", "german")
ALL_METHODS = (
    "underlying",
    "Platt",
    "Platt regularised",
    "Platt log-odds",
    "isotonic",
    "isotonic dummies",
    "IVAP",
    "CVAP",
    "CVAP pooled",
    "CVAP pooled, weight K",
    "CVAP log, then Brier",
    "CVAP Brier, then log",
    "CVAP one model",
    "cross underlying",
    "cross Platt",
    "cross Platt regularised",
    "cross Platt log-odds",
    "cross isotonic",
    "cross isotonic dummies",
)


BY_LOG = {"IVAP", "CVAP", "CVAP pooled", "CVAP pooled, weight K", "CVAP one model"}


def result(
    place,
    method,
    losses,
    *,
    merging=None,
    width=None,
    deficiency=None,
    negative=None,
    miscalibration=None,
    p=None,
    seconds=0.0,
    training=None,
    engine="scikit-learn",
):
    data, algorithm, ratio = place
    log_loss, brier_loss = losses
    if merging is None:
        crossed = "mean" if method.startswith("cross ") else ""
        merging = "log" if method in BY_LOG else crossed
    return Result(
        engine=engine,
        data=data,
        algorithm=algorithm,
        ratio=ratio,
        method=method,
        merging=merging,
        log_loss=log_loss,
        brier_loss=brier_loss,
        n_infinite=int(log_loss == math.inf),
        setting="",
        width_mean=width,
        width_median=width,
        width_largest=width,
        deficiency=deficiency,
        deficiency_negative=negative,
        miscalibration=miscalibration,
        miscalibration_p=p,
        training=training,
        seconds=seconds,
        reason="",
    )


def results(table, engine="scikit-learn"):
    """Results of a table {(data, algorithm, ratio): {method: (log, Brier)}}.

    A method may be a pair with its merging.
    """
    found = []
    for place, methods in table.items():
        for method, losses in methods.items():
            name, merging = method if isinstance(method, tuple) else (method, None)
            found.append(result(place, name, losses, merging=merging, engine=engine))
    return found


def of(name):
    """What judges a claim by an index of results, or by studies."""

    def judge(records):
        if isinstance(records, Studies):
            records = ResultIndex([], studies=records)
        return claims.judge(records, name)

    return judge


def index(table, engine="scikit-learn"):
    return ResultIndex(results(table, engine))


def same(methods, losses):
    """The same losses for some methods."""
    return dict.fromkeys(methods, losses)


def finished(found):
    """Units of work with these results."""
    places = dict.fromkeys(Unit(r.data, r.algorithm, r.ratio) for r in found)
    return tuple(
        Finished(
            "scikit-learn",
            unit,
            ("C=1",),
            1.0,
            tuple(r for r in found if Unit(r.data, r.algorithm, r.ratio) == unit),
        )
        for unit in places
    )


def figures(of_set, ratios=("4:1",), algorithm="tree"):
    """The six sets with losses by a function of the set and the ratio."""
    return index(
        {
            (data, algorithm, ratio): losses
            for data in SIX
            for ratio in ratios
            if (losses := of_set(data, ratio)) is not None
        }
    )
