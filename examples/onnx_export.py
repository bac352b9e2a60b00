"""
ONNX: the whole classifier in one graph
=======================================

Where models are served by ONNX Runtime, a classifier can leave Python together with its
calibration: from features to bounds and probabilities in one file. It needs
``pip install "abers[onnx]"``.

The data are simulated.
"""

import tempfile
from pathlib import Path

import numpy as np
import onnxruntime
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import abers

X, y = make_classification(4_000, flip_y=0.2, random_state=0)
inner = make_pipeline(StandardScaler(), LogisticRegression())
model = abers.IVAPClassifier(inner, random_state=0).fit(X[:3_000], y[:3_000])

# %%
# ``check`` runs rows through both, and writes into the file how many bounds differ.

path = Path(tempfile.mkdtemp(), "model.onnx")
graph = abers.export.to_onnx(model, path, check=X)
print(f"{path.stat().st_size / 1000:.0f} kB")
for fact in graph.metadata_props:
    print(f"{fact.key}: {fact.value}")

# %%
# Anybody can ask it now, without Python, scikit-learn or abers:

session = onnxruntime.InferenceSession(path)
lower, upper, probabilities = session.run(
    ["lower", "upper", "probabilities"], {"X": X[3_000:]}
)
print(np.column_stack((lower, upper, probabilities[:, 1]))[:3].round(4))

# %%
# The same bits:

bounds = model.predict_bounds(X[3_000:])
same = (bounds[:, 0] == lower) & (bounds[:, 1] == upper)
print(f"{same.sum()} of {len(same)} rows have the same bounds")

# %%
# A rule alone is a table of steps, for SQL and other languages:

rule = abers.fit_rule([1, 2, 3, 4], [0, 1, 0, 1])
table = abers.export.steps(rule)
for row in zip(table.start, table.lower, table.upper, table.probability, strict=True):
    print("from {:6.3f}: {:.3f} {:.3f} {:.3f}".format(*row))
