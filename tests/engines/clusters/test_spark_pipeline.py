"""Calibration is a stage of pyspark.ml, and its rule the same file as everywhere."""

import numpy as np
import pyarrow.parquet as pq
import pytest
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.classification import LogisticRegression
from pyspark.ml.evaluation import (
    BinaryClassificationEvaluator,
    MulticlassClassificationEvaluator,
)
from pyspark.ml.feature import VectorAssembler
from pyspark.ml.linalg import Vectors, VectorUDT
from pyspark.sql.types import DoubleType, LongType, StructField, StructType
from sklearn.metrics import log_loss

import abers
from abers.engines.spark import IVAPCalibrator, IVAPModel
from abers.errors import InvalidData
from engine_rows import made_rows, predictors


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
        IVAPCalibrator(boundsCol="pair"),
    ]
    return Pipeline(stages=stages).fit(df)


def test_a_vector_of_scores_is_calibrated_by_its_second_element(df, fitted):
    added = fitted.transform(df)
    rows = added.collect()
    scores = [row.rawPrediction[1] for row in rows]
    rule = abers.fit_rule(scores, [row.label for row in rows])
    p = rule.probability(scores)
    assert fitted.stages[-1].rule == rule
    assert [row.pair for row in rows] == rule.bounds(scores).tolist()
    vectors = np.array([row.calibrated_probability.toArray() for row in rows])
    assert np.array_equal(vectors, np.transpose([1 - p, p]))
    assert [row.calibrated_prediction for row in rows] == (p > 0.5).tolist()
    new = ["pair", "calibrated_probability", "calibrated_prediction"]
    assert added.columns[-4:] == ["prediction", *new]


def test_evaluators_of_spark_read_the_new_columns(df, fitted):
    added = fitted.transform(df)
    rows = added.collect()
    p = [row.calibrated_probability[1] for row in rows]
    labels = [row.label for row in rows]
    names = {"probabilityCol": "calibrated_probability"}
    names["predictionCol"] = "calibrated_prediction"
    loss = MulticlassClassificationEvaluator(metricName="logLoss", eps=1e-15, **names)
    assert loss.evaluate(added) == pytest.approx(log_loss(labels, p))
    auc = BinaryClassificationEvaluator(rawPredictionCol="calibrated_probability")
    assert 0.5 < auc.evaluate(added) <= 1


@pytest.mark.parametrize("name", ["stacked", "pooled", "stacked classes"])
def test_any_saved_predictor_is_a_stage(spark, name, tmp_path):
    """Of several models or classes, the scores are a vector."""
    predictor, scores = predictors(tmp_path)[name]
    given = [row[0] if len(row) == 1 else Vectors.dense(row) for row in scores.tolist()]
    rows = [*enumerate(given), (len(given), None)]
    kind = DoubleType() if scores.shape[1] == 1 else VectorUDT()
    schema = StructType([StructField("i", LongType()), StructField("s", kind)])
    IVAPModel(rule=predictor, scoreCol="s").save(str(tmp_path / "stage"))
    model = IVAPModel.load(str(tmp_path / "stage"))
    assert model.rule == predictor
    added = model.transform(spark.createDataFrame(rows, schema))
    *complete, last = sorted(added.collect(), key=lambda row: row.i)
    assert list(last)[2:] == [None, None, None]
    shape = scores if scores.shape[1] > 1 else scores[:, 0]
    p = predictor.probability(shape)
    p = p if p.ndim > 1 else np.transpose([1 - p, p])
    probabilities = np.array([row.calibrated_probability.toArray() for row in complete])
    assert np.array_equal(probabilities, p)
    bounds = [row.calibrated_bounds for row in complete]
    assert bounds == predictor.bounds(shape).tolist()
    predicted = [row.calibrated_prediction for row in complete]
    assert predicted == p.argmax(axis=1).tolist()


def test_columns_that_are_there_already_are_not_replaced(df, fitted):
    model = fitted.copy()
    model.stages[-1].set(model.stages[-1].probabilityCol, "Probability")
    with pytest.raises(InvalidData, match="it has 'probability' already"):
        model.transform(df)


def test_a_model_is_saved_and_loaded_whole(df, fitted, tmp_path):
    path = str(tmp_path / "model")
    fitted.write().overwrite().save(path)
    loaded = PipelineModel.load(path)
    assert loaded.stages[-1].rule == fitted.stages[-1].rule
    assert loaded.stages[-1].uid == fitted.stages[-1].uid
    columns = ["x", "pair", "calibrated_probability"]
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
    for name in ("scoreCol", "labelCol", "weightCol", "loss", "increasing"):
        assert loaded.getOrDefault(name) == stage.getOrDefault(name)


def test_a_column_of_scores_that_is_missing_is_named(df):
    with pytest.raises(InvalidData, match="must have the column 'rawPrediction'"):
        IVAPCalibrator().fit(df)
