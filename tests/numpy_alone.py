"""Fit and save with all packages; load, predict and refuse with numpy alone.

`fit FOLDER` runs where abers has what it depends on, `score FOLDER` in a scoring image.
"""

import sys
from pathlib import Path

import numpy as np

import abers
import abers.rules

ROWS = np.random.default_rng(0).random((300, 3)) + 0.01
THREE = ROWS / ROWS.sum(axis=1, keepdims=True)  # probabilities of three classes
SCORES = THREE[:, 0]
LABELS = (THREE[:, 1] < SCORES).astype(int)
FIRST = np.arange(300) % 7 == 0
LABELS[FIRST] = 1 - LABELS[FIRST]  # none is right always
CLASSES = THREE.argmax(axis=1) * ~FIRST
GROUPS = np.arange(300) % 2


def fit(folder):
    """Save one of each kind of rule and calibrator, and what it answers here."""
    curves = ("Platt", "Isotonic", "Temperature", "Beta")
    fitted = {
        "rule": abers.fit_rule(SCORES, LABELS),
        "rule-set": abers.fit_rules(SCORES, LABELS, GROUPS),
        "pooled": abers.rules.fit_pooled_rule(SCORES, LABELS, GROUPS),
        "stacked": abers.fit_stacked_rule(SCORES, LABELS),
        "stacked-3": abers.fit_stacked_rule(THREE, CLASSES),
        "venn-abers-3": abers.IVAPCalibrator().fit(THREE, CLASSES).calibrator_,
        **{
            f"curve-{name}-3": getattr(abers, f"{name}Calibrator")()
            .fit(THREE, CLASSES)
            .calibrator_
            for name in curves
        },
    }
    for name, thing in fitted.items():
        thing.save(folder / f"{name}.abers")
        np.savez(folder / f"{name}.npz", **answers(name, thing))


def answers(name, thing):
    rows = THREE if name.endswith("-3") else SCORES
    rows = THREE[:, :2] if name == "pooled" else rows  # of two folds
    more = {"groups": GROUPS} if name == "rule-set" else {}
    numbers = {"probability": thing.probability(rows, **more)}
    if not name.startswith("curve"):
        numbers["bounds"] = thing.bounds(rows, **more)
    return numbers


def score(folder):
    """Ask all of them again: the same bits. What needs more says so in a sentence."""
    files = sorted(folder.glob("*.abers"))
    for file in files:
        numbers = answers(file.stem, abers.load(file))
        with np.load(file.with_suffix(".npz")) as expected:
            assert numbers.keys() == set(expected)
            for what, values in numbers.items():
                assert values.tobytes() == expected[what].tobytes(), (file.name, what)
    for use, sentence in LACKING.items():
        shown = message(use)
        assert shown == sentence, f"{use}: {shown}"
    sys.stdout.write(f"{len(files)} files, {len(LACKING)} sentences\n")


def message(use):
    try:
        exec(use, globals() | {"rule": abers.fit_rule(SCORES, LABELS)})  # noqa: S102
    except (abers.errors.MissingExtra, SystemExit) as error:
        return str(error)
    return "no error"


ALL = "narwhals, scipy and scikit-learn, not installed here; "
ALL += "pip install narwhals scipy scikit-learn does it."
SCIPY = "needs scipy, not installed here; pip install scipy does it."
NARWHALS = "needs narwhals, not installed here; pip install narwhals does it."


def extra(name, packages):
    return (
        f'needs {packages}, not installed here; pip install "abers[{name}]" brings it; '
        f'in a clone, pip install ".[{name}]".'
    )


LACKING = {
    "abers.CVAPClassifier": f"abers.estimators needs {ALL}",
    "abers.predict_bounds(rule, SCORES)": f"abers.estimators needs {ALL}",
    "abers.rules.SKOPS_TYPES": f"abers.estimators needs {ALL}",
    "abers.rules.shift_weights": f"abers.estimators needs {ALL}",
    "from abers.estimators import calibrators": f"abers.estimators needs {ALL}",
    "abers.compare": f"abers.comparison needs {ALL}",
    "from abers.comparison import Comparison": f"abers.comparison needs {ALL}",
    "abers.check(rule, SCORES, LABELS)": f"abers.evaluation {SCIPY}",
    "abers.evaluate(rule, SCORES, LABELS)": f"abers.evaluation {SCIPY}",
    "abers.evaluation.sample_size(ece=0.1, base_rate=0.2)": f"abers.evaluation {SCIPY}",
    "abers.fit_rule(SCORES, LABELS, keep_diagram=True).interval(SCORES)": (
        f"a confidence interval {SCIPY}"
    ),
    "abers.fit_stacked_rule(THREE, CLASSES)": f"a fit to more than two classes {SCIPY}",
    "rule.bounds(range(3))": (f"scores, neither a numpy array nor a list, {NARWHALS}"),
    "abers.fit_rules(SCORES, LABELS, range(300))": (
        f"groups, neither a numpy array nor a list, {NARWHALS}"
    ),
    "import abers.tables": f"a table {extra('cli', 'pyarrow')}",
    "abers.export.steps(rule).to_arrow()": f"a table {extra('cli', 'pyarrow')}",
    "abers.export.to_onnx(rule)": f"a graph of ONNX {extra('onnx', 'onnx')}",
    "abers.plots.RuleDisplay.from_rule(rule)": f"a plot {extra('plot', 'matplotlib')}",
    "abers.formula": f"abers.formula {extra('formula', 'formulaic')}",
    "abers.engines.dask": f"abers.engines.dask {extra('dask', 'pyarrow')}",
    "abers.engines.spark": (
        f"abers.engines.spark {extra('spark', 'pyspark, pyarrow and pandas')}"
    ),
    "import abers.cli; abers.cli.main()": (
        f"abers: the command abers {extra('cli', 'click, rich and pyarrow')}"
    ),
}

if __name__ == "__main__":
    {"fit": fit, "score": score}[sys.argv[1]](Path(sys.argv[2]))
