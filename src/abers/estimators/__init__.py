"""Estimators: Venn-Abers prediction with the manners of scikit-learn."""
