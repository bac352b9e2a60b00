"""Estimators: Venn-Abers prediction with the manners of scikit-learn."""

from abers.errors import need

need("narwhals", "scipy", "sklearn", what="abers.estimators")
