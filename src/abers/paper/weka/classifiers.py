"""Weka's classifiers: the options that the paper tuned, and the grids tried here."""

from __future__ import annotations

from itertools import product

CONFIDENCES = tuple(round(0.05 * i, 2) for i in range(1, 11))  # of J48's pruning
RIDGES = (1e-8, 1e-4, 1e-2, 0.1, 1, 10, 100, 1000)
CONSTANTS = (0.01, 0.1, 1, 3, 10)
RATES = (0.0003, 0.001, 0.003, 0.01, 0.3)
MOMENTA = (0.2, 0.9)

J48 = "weka.classifiers.trees.J48"

# For each algorithm its settings as text, and the command line that each stands for.
COMMANDS: dict[str, dict[str, str]] = {
    "tree": {f"C={c:g}": f"{J48} -C {c:g}" for c in CONFIDENCES},
    "bagging": {
        f"C={c:g}": f"weka.classifiers.meta.Bagging -W {J48} -- -C {c:g}"
        for c in CONFIDENCES
    },
    "logistic": {
        f"R={r:g}": f"weka.classifiers.functions.Logistic -R {r:g}" for r in RIDGES
    },
    "naive Bayes": {"": "weka.classifiers.bayes.NaiveBayes"},
    "neural network": {
        f"L={rate:g} M={momentum:g}": (
            "weka.classifiers.functions.MultilayerPerceptron "
            f"-L {rate:g} -M {momentum:g}"
        )
        for rate, momentum in product(RATES, MOMENTA)
    },
    "SVM": {
        f"C={c:g}": f"weka.classifiers.functions.SMO -M -C {c:g}" for c in CONSTANTS
    },
}
