"""
Many classes: is the most probable one as probable as it seems?
===============================================================

Naive Bayes multiplies the evidence of 64 pixels as if they were independent. On
handwritten digits it is right four times in five, with a mean confidence of 95 %.
`CVAPClassifier` keeps the model, and corrects its probabilities; here that makes it
right more often, too.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.naive_bayes import GaussianNB

import abers
from abers.plots import ClassesDisplay, ReliabilityDisplay

X, y = load_digits(return_X_y=True)
model = abers.CVAPClassifier(GaussianNB(), merge="pooled", random_state=0)
model.fit(X[::2], y[::2])

# %%
# `evaluate` takes any number of classes. The losses cover all classes; the table has
# each class against the rest, the most miscalibrated first.

evaluation = abers.evaluate(model, X[1::2], y[1::2])
print(evaluation)

# %%
# How often is the most probable class the right one? Before calibration, less often
# than its probability says, at all probabilities.

display = ReliabilityDisplay.from_estimator(model, X[1::2], y[1::2])

# %%
# And digit by digit:

display = ClassesDisplay.from_predictions(y[1::2], model.predict_proba(X[1::2]))

# %%
# With ten classes there are two ways to form two-class problems: each class against the
# rest (``"ovr"``), or each pair (``"ovo"``). By default, the rules of four folds
# predict the fifth, and the better way is chosen. Here it is each class against the
# rest:

print(f"chosen: {model.multiclass_}")

for multiclass in ("ovr", "ovo"):
    other = abers.CVAPClassifier(
        GaussianNB(), merge="pooled", multiclass=multiclass, random_state=0
    )
    other.fit(X[::2], y[::2])
    loss = abers.evaluate(other, X[1::2], y[1::2]).losses.log.after
    print(f"{multiclass}: log loss {loss:.3f}")

plt.show()
