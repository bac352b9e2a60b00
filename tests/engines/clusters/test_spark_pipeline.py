"""Calibration is a stage of pyspark.ml, and its rule the same file as everywhere."""

import numpy as np
import pyarrow.parquet as pq
import pytest
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.classification import LogisticRegression
from pyspark.ml.feature import VectorAssembler

import abers
from abers.engines.spark import IVAPCalibrator, IVAPModel
from abers.errors import InvalidData
from engine_rows import made_rows


@pytest.fixture(scope="module")
def df(spark):
    scores, labels, _ = made_rows(300, seed=1)
    pairs = [(s, y) for s, y in zip(scores, labels, strict=True) if np.isfinite(s)]
    return spark.createDataFrame(pairs, "x double, label int").coalesce(2)


@pytest.fixture(scope="module")
def fitted(df):
    stages = [
        VectorAssembler(inputCols=["x"], outputCol="features"),
        LogisticRegression(maxIter=5),
        IVAPCalibrator(prefix="p_"),
    ]
    return Pipeline(stages=stages).fit(df)


def test_a_vector_of_scores_is_calibrated_by_its_second_element(df, fitted):
    found = fitted.transform(df).select("rawPrediction", "label", "p_lower").collect()
    scores = [row.rawPrediction[1] for row in found]
    rule = abers.fit_rule(scores, [row.label for row in found])
    assert fitted.stages[-1].rule == rule
    assert [row.p_lower for row in found] == rule.bounds(scores)[:, 0].tolist()
    assert "rawPrediction[1]" not in fitted.transform(df).columns


def test_a_model_is_saved_and_loaded_whole(df, fitted, tmp_path):
    path = str(tmp_path / "model")
    fitted.write().overwrite().save(path)
    loaded = PipelineModel.load(path)
    assert loaded.stages[-1].rule == fitted.stages[-1].rule
    assert loaded.stages[-1].uid == fitted.stages[-1].uid
    columns = ["x", "p_lower", "p_upper", "p_probability"]
    before, after = (
        model.transform(df).select(*columns).collect() for model in (fitted, loaded)
    )
    assert after == before
    assert fitted.copy().stages[-1].rule is fitted.stages[-1].rule


def test_a_saved_rule_is_the_file_that_plain_python_reads(fitted, tmp_path):
    fitted.stages[-1].save(str(tmp_path / "stage"))
    (cell,) = pq.read_table(tmp_path / "stage" / "data")["rule"].to_pylist()
    (tmp_path / "rule.abers").write_bytes(cell)
    rule = abers.load(tmp_path / "rule.abers")
    assert rule == fitted.stages[-1].rule
    model = IVAPModel(rule=rule, scoreCol="x", loss="brier")  # and back
    model.save(str(tmp_path / "back"))
    assert IVAPModel.load(str(tmp_path / "back")).rule == rule
    assert IVAPModel.load(str(tmp_path / "back")).getOrDefault("loss") == "brier"


def test_an_estimator_that_is_not_fitted_is_saved_with_its_parameters(tmp_path):
    stage = IVAPCalibrator(scoreCol="x", weightCol="w", increasing=False)
    stage.save(str(tmp_path / "stage"))
    loaded = IVAPCalibrator.load(str(tmp_path / "stage"))
    for name in ("scoreCol", "labelCol", "weightCol", "prefix", "loss", "increasing"):
        assert loaded.getOrDefault(name) == stage.getOrDefault(name)


def test_a_column_of_scores_that_is_missing_is_named(df):
    with pytest.raises(InvalidData, match="must have the column 'rawPrediction'"):
        IVAPCalibrator().fit(df)
