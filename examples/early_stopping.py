"""
LightGBM and XGBoost with early stopping
========================================

Boosting with early stopping needs rows to stop on. The calibration needs rows that the
model has not seen, and the stopping rows do not qualify: they chose the number of
trees. So split three ways: train, stop, calibrate. Then freeze the model, and nothing
is trained again.

The data are simulated.
"""

import matplotlib.pyplot as plt
import numpy as np
from lightgbm import LGBMClassifier, early_stopping
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import log_loss
from xgboost import XGBClassifier

import abers
from abers.plots import ReliabilityDisplay

X, y = make_classification(
    12_000, n_features=20, n_informative=8, weights=[0.85], flip_y=0.1, random_state=0
)
train, stop, calibrate, new = np.split(np.arange(len(y)), [4_000, 5_000, 7_000])

light = LGBMClassifier(
    n_estimators=2_000, learning_rate=0.05, n_jobs=1, verbose=-1, random_state=0
)
light.fit(
    X[train],
    y[train],
    eval_X=X[stop],
    eval_y=y[stop],
    callbacks=[early_stopping(50, verbose=False)],
)
print(f"LightGBM stopped after {light.best_iteration_} trees")

extreme = XGBClassifier(
    n_estimators=2_000, learning_rate=0.05, early_stopping_rounds=50, n_jobs=1
)
extreme.fit(X[train], y[train], eval_set=[(X[stop], y[stop])], verbose=False)
print(f"XGBoost stopped after {extreme.best_iteration} trees")

# %%
# ``FrozenEstimator`` keeps what was trained; ``fit`` only calibrates. A classifier that
# is passed unfrozen would be trained again, without its early stopping; a warning says
# so.

for name, booster in {"LightGBM": light, "XGBoost": extreme}.items():
    frozen = FrozenEstimator(booster)
    model = abers.CalibratedClassifier(frozen).fit(X[calibrate], y[calibrate])
    before, after = (m.predict_proba(X[new]) for m in (booster, model))
    print(
        f"{name:9s} log loss {log_loss(y[new], before):.4f} before, "
        f"{log_loss(y[new], after):.4f} after"
    )
    print(f"          {model.calibrator_}")

# %%
# The last model, before and after. Boosted trees with early stopping are not far off;
# the weights above show how much was left to correct.

display = ReliabilityDisplay.from_predictions(
    y[new], after[:, 1], before=before[:, 1], name="XGBoost"
)

# %%
# Bounds that are proven to be calibrated, for the same model and rows:

proven = abers.IVAPClassifier(FrozenEstimator(light)).fit(X[calibrate], y[calibrate])
rows = X[new[:3]]
for (lower, upper), (_, p) in zip(
    proven.predict_bounds(rows), proven.predict_proba(rows), strict=True
):
    print(f"lower {lower:.3f}, upper {upper:.3f}, one number {p:.3f}")

plt.show()
