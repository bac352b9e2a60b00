"""The study beside the calibrators of other libraries, and what CalArena is given."""

import calarena_entry
import numpy as np
import pytest
import torch
from probmetrics.distributions import CategoricalProbs
from sklearn.base import clone

import abers
from experiments.accuracy import study
from experiments.accuracy.methods import PROTOCOLS, methods
from experiments.accuracy.predictions import PostHoc
from experiments.accuracy.sources import sources, table

PUBLIC = [name for name, source in sources().items() if source.package != "paper"]


def draw(classes, size, seed=0):
    """Return overconfident probabilities, and labels."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(classes), size)
    y = (p.cumsum(axis=1) < rng.random((size, 1))).sum(axis=1)
    p = p**2 / (p**2).sum(axis=1, keepdims=True)
    return p, np.minimum(y, classes - 1)


@pytest.mark.parametrize("name", PUBLIC)
def test_sources_have_the_shape_that_is_listed(name):
    assert np.isfinite(table(name).X).all()


@pytest.mark.parametrize("source", ["bupa", "vehicle"])
def test_all_methods_run_in_both_protocols(tmp_path, source):
    results = study.run(tmp_path, [source], ["random forest"])
    classes = sources()[source].classes
    for protocol in PROTOCOLS:
        seen = {entry.method for entry in results if entry.protocol == protocol}
        assert seen == {*methods(protocol, classes)}
    assert not any(entry.failed for entry in results)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_entry_for_calarena_is_the_stacked_rule(classes):
    (p, y), (new, _) = draw(classes, 400), draw(classes, 50, seed=1)
    calibrator = clone(calarena_entry.StackedCalibrator()).fit(p, y)
    expected = methods("post hoc", classes)["stacked"].predict(PostHoc(p, y, new, y))
    assert np.array_equal(calibrator.predict_proba(new), expected)


def test_the_entry_takes_one_column_for_two_classes():
    (p, y), (new, _) = draw(2, 400), draw(2, 50, seed=1)
    calibrator = calarena_entry.StackedCalibrator().fit(p[:, 1], y)
    rule = abers.fit_stacked_rule(p[:, 1], y)
    predicted = calibrator.predict_proba(new[:, 1])
    assert predicted.shape == (50, 2)
    assert np.array_equal(predicted[:, 1], rule.probability(new[:, 1]))


def test_the_entry_takes_tensors_in_single_precision():
    p, y = draw(3, 400)
    single = CategoricalProbs(torch.tensor(p, dtype=torch.float32))
    calibrator = calarena_entry.StackedCalibrator().fit_torch(single, torch.tensor(y))
    predicted = calibrator.predict_proba_torch(single).get_probs().numpy()
    np.testing.assert_allclose(predicted.sum(axis=1), 1, atol=1e-6)
    assert calibrator.predict(p).shape == (400,)
