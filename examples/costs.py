"""
Costs: from which probability to act
====================================

Treating a healthy patient costs something, and missing a sick one costs more. If a
missed one is worth *c* needless treatments, one should treat if the probability is at
least 1 / (1 + *c*). That rule is only as good as the probabilities: if they are
overconfident, the right threshold selects the wrong patients.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB

import abers
from abers.evaluation import decision_curve
from abers.plots import DecisionCurveDisplay

X, y = load_breast_cancer(return_X_y=True)
sick = (y == 0).astype(int)  # in these data, 0 is malignant

# %%
# Naive Bayes by itself, and calibrated; each row is predicted by models that have not
# seen it.

before, after = np.empty(len(sick)), np.empty(len(sick))
for train, new in StratifiedKFold(5, shuffle=True, random_state=0).split(X, sick):
    model = abers.CVAPClassifier(GaussianNB(), merge="pooled", random_state=0)
    model.fit(X[train], sick[train])
    after[new] = model.predict_proba(X[new])[:, 1]
    before[new] = GaussianNB().fit(X[train], sick[train]).predict_proba(X[new])[:, 1]

# %%
# What a patient costs on average, in needless treatments, if a missed one is worth *c*
# of them and the threshold is 1 / (1 + *c*):

print("     c  threshold   treat all   naive Bayes   calibrated")
for c in (1, 3, 10, 30):
    threshold = 1 / (1 + c)
    costs = []
    for p in (np.ones(len(sick)), before, after):
        treated = p >= threshold
        costs.append(
            np.mean(treated & (sick == 0)) + c * np.mean(~treated & (sick == 1))
        )
    print(
        f"{c:6d} {threshold:10.3f} {costs[0]:11.3f} {costs[1]:13.3f} {costs[2]:12.3f}"
    )

# %%
# The decision curve has this for all thresholds at once, as the net benefit: the share
# of hits, minus that of false alarms at the price that the threshold implies. A
# prediction is useful where its curve is above those of treating all and of treating
# none.

figure, ax = plt.subplots(figsize=(5, 4.2), layout="constrained")
display = DecisionCurveDisplay.from_predictions(sick, after, name="calibrated", ax=ax)
curve = decision_curve(sick, before)
ax.plot(curve.thresholds, curve.net_benefit, color="#6e7781", label="naive Bayes")
ax.annotate(
    "naive Bayes",
    (curve.thresholds[96], curve.net_benefit[96]),
    (-80, 0),
    textcoords="offset points",
    color="#6e7781",
)
plt.show()

# %%
# With bounds, `decide` takes the action whose worst case is the best, and refers a case
# to a person if that is cheaper. Here a missed patient costs as much as ten needless
# treatments, and a second opinion half as much as one. Rows are actions, columns are
# true states.

train, new = next(StratifiedKFold(5, shuffle=True, random_state=0).split(X, sick))
model = abers.CVAPClassifier(GaussianNB(), merge="pooled", random_state=0)
model.fit(X[train], sick[train])
costs = [
    [0, 10],  # do not treat
    [1, 0],  # treat
]
decisions = abers.decide(model.predict_bounds(X[new]), costs, refer=0.5)
for action, name in ((0, "left alone"), (1, "treated"), (-1, "referred")):
    chosen = decisions.action == action
    print(f"{name:10s} {chosen.sum():3d} patients, {sick[new][chosen].sum():2d} sick")
