"""Estimators: Venn-Abers prediction with scikit-learn's API."""

from abers.errors import need

need("narwhals", "scipy", "sklearn", what="abers.estimators")
