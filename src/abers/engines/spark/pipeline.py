"""Pipeline: calibration as a stage of `pyspark.ml`."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.ml import Estimator, Model
from pyspark.ml.functions import array_to_vector, vector_to_array
from pyspark.ml.linalg import VectorUDT
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import (
    HasLabelCol,
    HasPredictionCol,
    HasProbabilityCol,
    HasWeightCol,
)
from pyspark.ml.util import (
    DefaultParamsReadable,
    DefaultParamsReader,
    DefaultParamsWritable,
    DefaultParamsWriter,
    MLReadable,
    MLReader,
    MLWritable,
    MLWriter,
)
from pyspark.sql import functions as F  # noqa: N812 (as every user of Spark calls it)

from abers.engines.counting import FRAME, check_column
from abers.engines.spark.added_columns import add_bounds
from abers.engines.spark.fitting import fit_rule
from abers.engines.spark.frames import column
from abers.errors import InvalidData
from abers.storage.files import load
from abers.tables.files import listed
from abers.tables.predictors import Shape

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from abers.choices import LossName

RULE = "rule"  # the column with a rule's file, in a single cell
POSITIVE_ELEMENT = 1  # of a vector of two scores
PREFIX = "__abers_"  # of temporary columns


class CalibrationParams(HasLabelCol, HasWeightCol, HasProbabilityCol, HasPredictionCol):
    """The common part of an estimator and its model."""

    scoreCol = Param(  # noqa: N815 (as pyspark.ml names all of them)
        Params._dummy(),  # noqa: SLF001
        "scoreCol",
        "column of scores; of a vector of two, the second element",
        typeConverter=TypeConverters.toString,
    )
    boundsCol = Param(  # noqa: N815
        Params._dummy(),  # noqa: SLF001
        "boundsCol",
        "new column: an array of lower and upper probability; of many, one per class",
        typeConverter=TypeConverters.toString,
    )
    loss = Param(
        Params._dummy(),  # noqa: SLF001
        "loss",
        "loss for which the bounds are merged: log or brier",
        typeConverter=TypeConverters.toString,
    )
    increasing = Param(
        Params._dummy(),  # noqa: SLF001
        "increasing",
        "whether a higher score means a higher probability",
        typeConverter=TypeConverters.toBoolean,
    )

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(
            scoreCol="rawPrediction",
            labelCol="label",
            probabilityCol="calibrated_probability",
            predictionCol="calibrated_prediction",
            boundsCol="calibrated_bounds",
            loss="log",
            increasing=True,
        )


class IVAPCalibrator(
    Estimator, CalibrationParams, DefaultParamsReadable, DefaultParamsWritable
):
    """Fit a rule to the scores of the earlier stages; a stage of a Pipeline.

    Train the classifier on rows other than those used here: calibrate an existing
    `PipelineModel`, or its probabilities will look better than they are.

    The new columns have the types of Spark's own classifiers, so that its evaluators
    can read them, and names that differ from the classifier's. A row without a score
    gets nulls.

    Parameters
    ----------
    scoreCol : str, default="rawPrediction"
        Column of scores. In a vector, as produced by Spark's classifiers for two
        classes, the score is the element of class 1.
    labelCol : str, default="label"
        Column of labels, 0 and 1.
    weightCol : str, default=None
        Column of weights.
    probabilityCol : str, default="calibrated_probability"
        New column: a vector with the probability of each class.
    predictionCol : str, default="calibrated_prediction"
        New column: the number of the most probable class, as a double.
    boundsCol : str, default="calibrated_bounds"
        New column: an array of the lower and the upper probability of class 1.
    loss : {"log", "brier"}, default="log"
        The loss for which the bounds are merged into one probability.
    increasing : bool, default=True
        Whether a higher score means a higher probability.

    Examples
    --------
    >>> from abers.engines.spark import IVAPCalibrator
    >>> rows = [(1.0, 0), (2.0, 1), (3.0, 0)]
    >>> df = spark.createDataFrame(rows, "score double, label int")
    >>> model = IVAPCalibrator(scoreCol="score").fit(df)
    >>> model.transform(df).columns
    ['score', 'label', 'calibrated_bounds', 'calibrated_probability', \
'calibrated_prediction']
    """

    def __init__(
        self,
        *,
        scoreCol: str = "rawPrediction",
        labelCol: str = "label",
        weightCol: str | None = None,
        probabilityCol: str = "calibrated_probability",
        predictionCol: str = "calibrated_prediction",
        boundsCol: str = "calibrated_bounds",
        loss: LossName = "log",
        increasing: bool = True,
    ) -> None:
        super().__init__()
        self._set(
            scoreCol=scoreCol,
            labelCol=labelCol,
            probabilityCol=probabilityCol,
            predictionCol=predictionCol,
            boundsCol=boundsCol,
            loss=loss,
            increasing=increasing,
        )
        if weightCol is not None:
            self._set(weightCol=weightCol)

    def _fit(self, dataset: DataFrame) -> IVAPModel:
        weight = self.getWeightCol() if self.isSet(self.weightCol) else None
        score = self.getOrDefault(self.scoreCol)
        scored, (name,) = _scored(dataset, score, 1)
        rule = fit_rule(
            scored,
            score=name,
            label=self.getLabelCol(),
            weight=weight,
            increasing=self.getOrDefault(self.increasing),
        )
        model: IVAPModel = self._copyValues(IVAPModel(rule=rule))
        model._resetUid(self.uid)  # noqa: SLF001 (as Spark names the model of a stage)
        return model


class IVAPModel(Model, CalibrationParams, MLReadable, MLWritable):
    """A rule or a calibrator as a stage of a PipelineModel.

    Parameters
    ----------
    rule : Rule, PooledRule, StackedRule or any calibrator of `abers.load`
        The predictor. If it reads scores of several models or classes, `scoreCol` is a
        vector of them. With more than two classes, the bounds are an array with one
        pair per class; a calibrator without bounds adds no such column.
    scoreCol, probabilityCol, predictionCol, boundsCol, loss : str, default=None
        As for `IVAPCalibrator`.

    Examples
    --------
    >>> import abers
    >>> from abers.engines.spark import IVAPModel
    >>> rule = abers.fit_rule([1, 2, 3], [0, 1, 0])
    >>> model = IVAPModel(rule=rule, scoreCol="score", boundsCol="bounds")
    >>> new = spark.createDataFrame([(2.0,)], "score double")
    >>> model.transform(new).select("bounds").collect()
    [Row(bounds=[0.3333333333333333, 0.6666666666666666])]
    """

    def __init__(
        self,
        *,
        rule: Any,
        scoreCol: str | None = None,
        probabilityCol: str | None = None,
        predictionCol: str | None = None,
        boundsCol: str | None = None,
        loss: LossName | None = None,
    ) -> None:
        super().__init__()
        self.rule = rule
        given = {
            "scoreCol": scoreCol,
            "probabilityCol": probabilityCol,
            "predictionCol": predictionCol,
            "boundsCol": boundsCol,
            "loss": loss,
        }
        self._set(**{name: each for name, each in given.items() if each is not None})

    def _transform(self, dataset: DataFrame) -> DataFrame:
        score, shape = self.getOrDefault(self.scoreCol), Shape.of(self.rule)
        self._check_free(dataset.columns)
        scored, names = _scored(dataset, score, shape.n_scores)
        loss = self.getOrDefault(self.loss)
        added = add_bounds(scored, self.rule, score=names, prefix=PREFIX, loss=loss)
        new = [column(PREFIX + name) for name in shape.new_columns]
        n_added = len(new) // (1 if shape.is_binary else len(shape.classes))
        p = new[n_added - 1 :: n_added]
        pairs = [F.array(*new[i : i + 2]) for i in range(0, len(new), n_added)]
        if shape.is_binary:
            p = [1 - p[0], *p]
        columns = {}
        if shape.has_bounds:
            bounds = pairs[0] if shape.is_binary else F.array(*pairs)
            columns[self.getOrDefault(self.boundsCol)] = bounds
        best = F.array_position(F.array(*p), F.array_max(F.array(*p))) - 1
        columns[self.getProbabilityCol()] = array_to_vector(F.array(*p))
        columns[self.getPredictionCol()] = best.cast("double")
        old = [column(name) for name in dataset.columns]
        return added.select(
            *old, *(_unless_null(p[-1], each, name) for name, each in columns.items())
        )

    def _check_free(self, present: list[str]) -> None:
        """Raise if a column exists already."""
        params = self.boundsCol, self.probabilityCol, self.predictionCol
        names = {self.getOrDefault(param).lower() for param in params}
        if taken := [name for name in present if name.lower() in names]:
            msg = (
                f"{FRAME} must not have columns that are to be added; it has "
                f"{listed(taken)} already. Choose other names with probabilityCol, "
                "predictionCol and boundsCol."
            )
            raise InvalidData(msg)

    def write(self) -> MLWriter:
        """Return what saves the model: its parameters, and the file of its rule.

        Returns
        -------
        MLWriter
            As required by `pyspark.ml`.
        """
        return _ModelWriter(self)

    @classmethod
    def read(cls) -> MLReader[IVAPModel]:
        """Return what loads a model.

        Returns
        -------
        MLReader
            As required by `pyspark.ml`.
        """
        return _ModelReader()


class _ModelWriter(MLWriter):
    """Saves parameters as Spark does, and the rule as one cell of a Parquet file.

    A separate file would need a file system that Python can use.
    """

    def __init__(self, instance: IVAPModel) -> None:
        super().__init__()
        self.instance = instance

    def saveImpl(self, path: str) -> None:  # noqa: N802 (Spark calls it)
        DefaultParamsWriter.saveMetadata(self.instance, path, self.sparkSession)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "rule.abers")
            self.instance.rule.save(file)
            cell = bytearray(file.read_bytes())
        frame = self.sparkSession.createDataFrame([(cell,)], f"{RULE} binary")
        frame.coalesce(1).write.parquet(_data(path))


class _ModelReader(MLReader):
    """Loads what `_ModelWriter` has saved."""

    def load(self, path: str) -> IVAPModel:
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        (row,) = self.sparkSession.read.parquet(_data(path)).collect()
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "rule.abers")
            file.write_bytes(row[RULE])
            model = IVAPModel(rule=load(file))
        model._resetUid(metadata["uid"])  # noqa: SLF001 (as Spark's own readers do)
        DefaultParamsReader.getAndSetParams(model, metadata)
        return model


def _data(path: str) -> str:
    return f"{path.rstrip('/')}/data"


def _unless_null(p: Column, value: Column, name: str) -> Column:
    """Return a value, or null in rows without a probability."""
    return F.when(p.isNotNull(), value).alias(name)


def _scored(df: DataFrame, score: str, n_scores: int) -> tuple[DataFrame, list[str]]:
    """Return the columns of scores; elements of a vector become new columns.

    If one score is enough, it is the second element of the vector.
    """
    check_column(score, df.columns)
    if not isinstance(df.select(column(score)).schema[0].dataType, VectorUDT):
        return df, [score]
    places = [POSITIVE_ELEMENT] if n_scores == 1 else range(n_scores)
    vector = column(score)
    elements: Any = F.when(vector.isNotNull(), vector_to_array(vector))
    named = {f"{score}[{i}]": elements[i] for i in places}
    return df.withColumns(named), list(named)
