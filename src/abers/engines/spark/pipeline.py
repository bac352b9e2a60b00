"""Pipeline: calibration as a stage of `pyspark.ml`."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.ml import Estimator, Model
from pyspark.ml.functions import vector_to_array
from pyspark.ml.linalg import VectorUDT
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import HasLabelCol, HasWeightCol
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

from abers.engines.counting import check_column
from abers.engines.spark.added_columns import add_bounds
from abers.engines.spark.fitting import fit_rule
from abers.engines.spark.frames import column
from abers.storage.files import load

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from abers.choices import LossName
    from abers.core.rule import Rule

RULE = "rule"  # the column of the one cell that holds the file of a rule
POSITIVE_ELEMENT = 1  # of a vector of two scores


class CalibrationParams(HasLabelCol, HasWeightCol):
    """What an estimator and its model have in common."""

    scoreCol = Param(  # noqa: N815 (as pyspark.ml names all of them)
        Params._dummy(),  # noqa: SLF001
        "scoreCol",
        "column of scores; of a vector of two, the second element",
        typeConverter=TypeConverters.toString,
    )
    prefix = Param(
        Params._dummy(),  # noqa: SLF001
        "prefix",
        "what the names of the new columns begin with",
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
            prefix="calibrated_",
            loss="log",
            increasing=True,
        )


class IVAPCalibrator(
    Estimator, CalibrationParams, DefaultParamsReadable, DefaultParamsWritable
):
    """Fit a rule to the scores of the stages before; a stage of a Pipeline.

    Train the classifier on other rows than those that this is fitted to: calibrate a
    `PipelineModel` that exists, or the bounds flatter it.

    Parameters
    ----------
    scoreCol : str, default="rawPrediction"
        Column of scores. Of a vector, as Spark's own classifiers make it for two
        classes, the element of class 1 is the score.
    labelCol : str, default="label"
        Column of labels, 0 and 1.
    weightCol : str, default=None
        Column of weights.
    prefix : str, default="calibrated_"
        What the names of the new columns begin with: lower, upper, probability.
    loss : {"log", "brier"}, default="log"
        The loss for which the bounds are merged to one probability.
    increasing : bool, default=True
        Whether a higher score means a higher probability.

    Examples
    --------
    >>> from abers.engines.spark import IVAPCalibrator
    >>> rows = [(1.0, 0), (2.0, 1), (3.0, 0)]
    >>> df = spark.createDataFrame(rows, "score double, label int")
    >>> model = IVAPCalibrator(scoreCol="score").fit(df)
    >>> model.transform(df).columns
    ['score', 'label', 'calibrated_lower', 'calibrated_upper', 'calibrated_probability']
    """

    def __init__(
        self,
        *,
        scoreCol: str = "rawPrediction",
        labelCol: str = "label",
        weightCol: str | None = None,
        prefix: str = "calibrated_",
        loss: LossName = "log",
        increasing: bool = True,
    ) -> None:
        super().__init__()
        self._set(
            scoreCol=scoreCol,
            labelCol=labelCol,
            prefix=prefix,
            loss=loss,
            increasing=increasing,
        )
        if weightCol is not None:
            self._set(weightCol=weightCol)

    def _fit(self, dataset: DataFrame) -> IVAPModel:
        weight = self.getWeightCol() if self.isSet(self.weightCol) else None
        score = self.getOrDefault(self.scoreCol)
        scored, name = _scored(dataset, score)
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
    """A rule as a stage of a PipelineModel; `transform` adds its bounds.

    Parameters
    ----------
    rule : Rule
        What predicts; `abers.load` reads one that was fitted elsewhere.
    scoreCol, prefix, loss : str, default=None
        As for `IVAPCalibrator`.

    Examples
    --------
    >>> import abers
    >>> from abers.engines.spark import IVAPModel
    >>> rule = abers.fit_rule([1, 2, 3], [0, 1, 0])
    >>> model = IVAPModel(rule=rule, scoreCol="score", prefix="")
    >>> new = spark.createDataFrame([(2.0,)], "score double")
    >>> model.transform(new).select("lower").collect()
    [Row(lower=0.3333333333333333)]
    """

    def __init__(
        self,
        *,
        rule: Rule,
        scoreCol: str | None = None,
        prefix: str | None = None,
        loss: str | None = None,
    ) -> None:
        super().__init__()
        self.rule = rule
        given = {"scoreCol": scoreCol, "prefix": prefix, "loss": loss}
        self._set(**{name: each for name, each in given.items() if each is not None})

    def _transform(self, dataset: DataFrame) -> DataFrame:
        score = self.getOrDefault(self.scoreCol)
        scored, name = _scored(dataset, score)
        added = add_bounds(
            scored,
            self.rule,
            score=name,
            prefix=self.getOrDefault(self.prefix),
            loss=self.getOrDefault(self.loss),
        )
        return added if name == score else added.drop(column(name))

    def write(self) -> MLWriter:
        """Return what saves the model: its parameters, and the file of its rule.

        Returns
        -------
        MLWriter
            As `pyspark.ml` asks for it.
        """
        return _ModelWriter(self)

    @classmethod
    def read(cls) -> MLReader[IVAPModel]:
        """Return what loads a model.

        Returns
        -------
        MLReader
            As `pyspark.ml` asks for it.
        """
        return _ModelReader()


class _ModelWriter(MLWriter):
    """Saves parameters as Spark does, and the rule as one cell of a Parquet file.

    A file beside it would need a file system that Python knows.
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


def _scored(df: DataFrame, score: str) -> tuple[DataFrame, str]:
    """Return the column of scores; of a vector, a new one with its second element."""
    check_column(score, df.columns)
    if not isinstance(df.select(column(score)).schema[0].dataType, VectorUDT):
        return df, score
    name = f"{score}[{POSITIVE_ELEMENT}]"
    element: Any = vector_to_array(column(score))[POSITIVE_ELEMENT]
    return df.withColumn(name, element), name
