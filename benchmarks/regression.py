"""The study of regressors: run it, `--write` puts its tables into REGRESSION.md.

Squared error of a model, of isotonic regression, of venn-abers and of abers, on the
same rows: all have the same trained models and the same calibration rows. Then how many
bounds differ from their definition, and the time that they take.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.optimize import isotonic_regression
from sklearn.base import clone
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    make_friedman1,
    make_friedman2,
    make_friedman3,
)
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, train_test_split

import abers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Predict = Callable[[Floats], Floats]

PAGE = Path(__file__).parent / "REGRESSION.md"
MARK = "<!-- measured -->"
SPLITS = 6
TESTED = 0.25  # of all rows, held out
CALIBRATED = 0.2  # of the training rows, where one split is made
FOLDS = 5
OURS, PEER = "CVAPRegressor", "venn-abers, 5 folds"
ONE, PEER_ONE = "IVAPRegressor", "venn-abers, 1 split"
MODELS = {
    "linear": LinearRegression(),
    "forest": RandomForestRegressor(50, min_samples_leaf=3, random_state=0),
    "boosting": GradientBoostingRegressor(random_state=0),
}


class Set(NamedTuple):
    """Rows to predict, and where targets end, if that is known beforehand."""

    X: Floats
    y: Floats
    ends: dict[str, float]


def sets() -> dict[str, Set]:
    """Return the sets, chosen before anything was measured."""
    cancer = load_breast_cancer().data
    digits = load_digits()
    made = {
        "friedman1": make_friedman1(600, noise=1.0, random_state=0),
        "friedman2": make_friedman2(600, noise=125.0, random_state=0),
        "friedman3": make_friedman3(600, noise=0.1, random_state=0),
        "diabetes": load_diabetes(return_X_y=True),
        # The radius of the worst cells by all but what is measured of their size.
        "cancer": (
            np.delete(cancer, [0, 2, 3, 10, 12, 13, 20, 22, 23], 1),
            cancer[:, 20],
        ),
    }
    found = {name: Set(*rows, {}) for name, rows in made.items()}
    found["digits"] = Set(digits.data, digits.target * 1.0, {"low": 0, "high": 9})
    return found


def isotonic(model: Any, X: Floats, y: Floats, pairs: list[Any]) -> Predict:
    """Calibrate models by isotonic regression, each on its own rows; take the mean."""
    fitted = []
    for train, calibrate in pairs:
        inner = clone(model).fit(X[train], y[train])
        curve = IsotonicRegression(out_of_bounds="clip")
        fitted.append((inner, curve.fit(inner.predict(X[calibrate]), y[calibrate])))
    return lambda new: np.mean([c.predict(m.predict(new)) for m, c in fitted], axis=0)


def methods(model: Any, rows: Set, seed: int) -> Iterator[tuple[str, Predict]]:
    """Train every method on the same rows."""
    from venn_abers import VennAbersRegressor

    X, y, ends = rows
    everything = np.arange(y.size)
    split = train_test_split(everything, test_size=CALIBRATED, random_state=seed)
    folds = list(KFold(FOLDS, shuffle=True, random_state=seed).split(X))
    yield "model", clone(model).fit(X, y).predict
    yield "isotonic, 1 split", isotonic(model, X, y, [split])
    yield "isotonic, 5 folds", isotonic(model, X, y, folds)
    for name, options in (
        (PEER_ONE, {"inductive": True, "cal_size": CALIBRATED}),
        (PEER, {"inductive": False, "n_splits": FOLDS}),
    ):
        peer = VennAbersRegressor(clone(model), random_state=seed, **options)
        peer.fit(X, y)
        yield name, lambda new, peer=peer: peer.predict(new)[0]
    ivap = abers.IVAPRegressor(clone(model), calibration=np.sort(split[1]))
    yield ONE, ivap.fit(X, y).predict
    cvap = abers.CVAPRegressor(clone(model), cv=folds)
    yield OURS, cvap.fit(X, y).predict
    if ends:
        bounded = abers.CVAPRegressor(clone(model), cv=folds, **ends)
        yield f"{OURS}, ends given", bounded.fit(X, y).predict


def errors(rows: Set, model: Any, splits: int) -> dict[str, Floats]:
    """Return the mean squared error of every method in every split."""
    found: dict[str, list[float]] = {}
    for seed in range(splits):
        parts = train_test_split(
            rows.X, rows.y, test_size=TESTED, random_state=1000 + seed
        )
        X, new, y, truth = parts
        for name, predict in methods(model, Set(X, y, rows.ends), seed):
            error = np.mean((predict(new) - truth) ** 2)
            found.setdefault(name, []).append(float(error))
    return {name: np.array(values) for name, values in found.items()}


def difference(ours: Floats, theirs: Floats) -> str:
    """Write a paired difference, in per cent of theirs, with its standard error."""
    share = 100 * (ours - theirs) / theirs.mean()
    return f"{share.mean():+.2f} ± {share.std(ddof=1) / np.sqrt(share.size):.2f}"


def accuracy(splits: int) -> Iterator[str]:
    """Compare squared errors, set by set and model by model."""
    columns: list[str] = []
    table, pairs = [], []
    for set_name, rows in sets().items():
        for model_name, model in MODELS.items():
            found = errors(rows, model, splits)
            columns = list(found)[:7]
            of_model = found["model"].mean()
            cells = [f"{found[name].mean() / of_model:.3f}" for name in columns[1:]]
            extra = found.get(f"{OURS}, ends given")
            last = "" if extra is None else f"{extra.mean() / of_model:.3f}"
            table.append((set_name, model_name, f"{of_model:.4g}", *cells, last))
            pairs.append((set_name, model_name, found))
    yield f"### Mean squared error, {splits} random splits\n"
    yield "That of the model trained on all training rows; of others as multiples.\n"
    yield "| set | model | " + " | ".join(columns) + " | ends given |"
    yield "|" + " --- |" * (len(columns) + 3)
    for line in table:
        yield "| " + " | ".join(line) + " |"
    yield from paired(pairs)


def paired(pairs: list[tuple[str, str, dict[str, Floats]]]) -> Iterator[str]:
    """Compare with venn-abers and with the model, split by split."""
    yield "\n### Paired differences of squared error\n"
    yield (
        "Per cent of the other one's error, with the standard error over the splits, "
        "whose rows overlap: a guide, not a test.\n"
    )
    yield (
        f"| set | model | {OURS} - venn-abers | {ONE} - venn-abers | {OURS} - "
        f"isotonic, 5 folds | {OURS} - model | {ONE} - model |"
    )
    yield "|" + " --- |" * 7
    against = ((OURS, PEER), (ONE, PEER_ONE), (OURS, "isotonic, 5 folds"))
    for set_name, model_name, found in pairs:
        cells = [
            difference(found[a], found[b])
            for a, b in (*against, (OURS, "model"), (ONE, "model"))
        ]
        yield f"| {set_name} | {model_name} | " + " | ".join(cells) + " |"
    names = list(dict.fromkeys(name for name, _, _ in pairs))
    yield ""
    for ours, theirs in against:
        below, cases = [], 0
        for name in names:
            ratios = [
                f[ours].mean() / f[theirs].mean() for s, _, f in pairs if s == name
            ]
            cases += sum(ratio <= 1 for ratio in ratios)
            if np.mean(ratios) <= 1:
                below.append(name)
        yield (
            f"{ours} is not above {theirs} in {len(below)} of {len(names)} sets, by "
            f"the mean ratio of its models ({', '.join(below)}), and in {cases} of "
            f"{len(pairs)} pairs of set and model.\n"
        )


def definition(scores: Floats, targets: Floats, s: float) -> tuple[float, float]:
    """Return the bounds at s by two isotonic regressions, trimmed by one."""
    ordered, bounds = np.sort(targets), []
    for new, floor, ceiling in (
        (ordered[0], ordered[0], ordered[-2]),
        (ordered[-1], ordered[1], ordered[-1]),
    ):
        y = np.append(np.clip(targets, floor, ceiling), new)
        keys, place = np.unique(np.append(scores, s), return_inverse=True)
        counts = np.bincount(place)
        fit = isotonic_regression(np.bincount(place, y) / counts, weights=counts)
        bounds.append(float(fit.x[keys.searchsorted(s)]))
    return bounds[0], bounds[1]


def peer_bounds(scores: Floats, targets: Floats, tests: Floats) -> Floats:
    """Return the bounds of venn-abers for scores, as its regressor computes them."""
    from venn_abers import VennAbers

    ordered, bounds = np.sort(targets), []
    for column, floor, ceiling in ((0, 0, -2), (1, 1, -1)):
        held = np.clip(targets, ordered[floor], ordered[ceiling])
        rule = VennAbers(setting="regression").fit(p_cal=scores, y_cal=held)
        bounds.append(rule.predict_proba(p_test=tests)[1][:, column])
    return np.column_stack(bounds)


def correctness() -> Iterator[str]:
    """Count the bounds that differ from two isotonic regressions."""
    yield "### Bounds that are not the definition's\n"
    yield (
        "More than 1e-9 of the range of targets away from two isotonic regressions (by "
        "SciPy) with the new case; 100 sets of 60 rows, 40 new scores each.\n"
    )
    yield "| scores | bound | abers | venn-abers | largest error of it, of the range |"
    yield "| --- | --- | --- | --- | --- |"
    rng = np.random.default_rng(0)
    for kind, decimals in (("all different", 9), ("one decimal", 1)):
        wrong = {"abers": np.zeros(2, int), "venn-abers": np.zeros(2, int)}
        largest = np.zeros(2)
        for _ in range(100):
            scores = rng.random(60).round(decimals)
            targets = scores + rng.normal(size=60) / 2
            tests = np.append(scores[:20], rng.random(20).round(decimals))
            expected = np.array([definition(scores, targets, s) for s in tests])
            span = np.ptp(targets)
            rule = abers.rules.fit_regression_rule(scores, targets)
            peer = abs(peer_bounds(scores, targets, tests) - expected) / span
            ours = abs(rule.bounds(tests) - expected) / span
            wrong["abers"] += (ours > 1e-9).sum(axis=0)
            wrong["venn-abers"] += (peer > 1e-9).sum(axis=0)
            largest = np.maximum(largest, peer.max(axis=0))
        for column, bound in enumerate(("lower", "upper")):
            cells = [f"{wrong[name][column]:,} of 4,000" for name in wrong]
            yield f"| {kind} | {bound} | {' | '.join(cells)} | {largest[column]:.2g} |"


def best(run: Callable[[], object], times: int) -> float:
    """Return the least of several times, in milliseconds."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        found.append(time.perf_counter() - start)
    return 1000 * min(found)


def speed() -> Iterator[str]:
    """Time a fit and as many predictions, from scores."""
    yield "\n### Time of a fit with as many predictions, from scores, in milliseconds\n"
    yield "| rows | abers | venn-abers | ratio | abers / np.sort |"
    yield "| --- | --- | --- | --- | --- |"
    rng = np.random.default_rng(0)
    for rows, times in ((1_000, 20), (10_000, 5), (100_000, 3)):
        scores = rng.normal(size=rows)
        targets, tests = scores + rng.normal(size=rows), rng.normal(size=rows)

        def ours(s: Floats = scores, y: Floats = targets, new: Floats = tests) -> None:
            abers.rules.fit_regression_rule(s, y).bounds(new)

        def theirs(
            s: Floats = scores, y: Floats = targets, new: Floats = tests
        ) -> None:
            peer_bounds(s, y, new)

        mine, other = best(ours, times), "-"
        ratio = "-"
        if rows <= 10_000:
            peer = best(theirs, min(times, 3))
            other, ratio = f"{peer:.3g}", f"{peer / mine:.3g}"
        sort = best(lambda s=scores: np.sort(s), times)
        yield f"| {rows:,} | {mine:.3g} | {other} | {ratio} | {mine / sort:.3g} |"


def page(splits: int) -> Iterator[str]:
    """Run the study, line by line of the page."""
    start = time.perf_counter()
    yield from accuracy(splits)
    yield from correctness()
    yield from speed()
    yield f"\n{(time.perf_counter() - start) / 60:.0f} minutes."


def main() -> None:
    """Read the options, run, and print or write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=SPLITS, help="of each set")
    parser.add_argument("--write", action="store_true", help="put it in the page")
    options = parser.parse_args()
    lines = []
    with np.errstate(), warnings.catch_warnings():  # the peer changes the former
        warnings.simplefilter("ignore", UserWarning)  # of few rows a fold
        warnings.simplefilter("ignore", RuntimeWarning)  # the peer divides 0 by 0
        for line in page(options.splits):
            print(line, flush=True)
            lines.append(line)
    if options.write:
        head = PAGE.read_text().split(MARK)[0]
        PAGE.write_text(f"{head}{MARK}\n\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
