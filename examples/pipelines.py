"""
Pipelines, searches and data frames (pandas), with bounds
=========================================================

A calibrated classifier is a classifier like any other: it can be the last step of a
pipeline, or wrap one, and a grid search tunes either. ``abers.predict_bounds`` finds
the calibrated model inside, sends the rows through all steps before it, and returns the
bounds.

The data come with scikit-learn.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import abers
from abers.plots import ReliabilityDisplay

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_train, X_new, y_train, y_new = train_test_split(X, y, random_state=0)

# %%
# A pipeline that ends in a calibrated classifier:

pipeline = make_pipeline(
    StandardScaler(), abers.CalibratedClassifier(LogisticRegression(), random_state=0)
)
pipeline.fit(X_train, y_train)
print(pipeline.predict_proba(X_new[:3]).round(3))
print(abers.predict_bounds(pipeline, X_new[:3]).round(3))

# %%
# A search over the strength of the regularisation, with the whole pipeline. Its best
# estimator is already calibrated.

search = GridSearchCV(
    pipeline,
    {"calibratedclassifier__estimator__C": [0.01, 0.1, 1, 10]},
    scoring="neg_log_loss",
)
search.fit(X_train, y_train)
print(search.best_params_)
print(abers.predict_bounds(search, X_new[:3]).round(3))

# %%
# `evaluate` and the displays take the same objects.

print(abers.evaluate(search, X_new, y_new))
display = ReliabilityDisplay.from_estimator(search, X_new, y_new)

plt.show()
