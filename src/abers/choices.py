"""Choices: the words that options accept, each list defined once."""

from __future__ import annotations

from typing import Literal

LossName = Literal["log", "brier"]
Merging = Literal["minimax", "pooled"]
Multiclass = Literal["auto", "ovo", "ovr"]
MulticlassOfOneRule = Literal["auto", "ovo", "ovr", "top"]
ResponseMethod = Literal["auto", "decision_function", "predict_proba"]
ScoreScale = Literal["auto", "probability", "margin"]
StackedScale = Literal["auto", "probability", "log-odds", "margin"]
ScoreKind = Literal["probability", "log-odds", "margin"]
MetricName = Literal["accuracy", "log_loss", "brier", "auc", "cost"]
Criterion = Literal["cost", "regret"]
OnMissing = Literal["null", "error"]
TableFormat = Literal["csv", "tsv", "parquet", "arrow", "json"]
FORMAT_NAMES: dict[TableFormat, str] = {  # for people
    "csv": "CSV",
    "tsv": "TSV",
    "parquet": "Parquet",
    "arrow": "Arrow",
    "json": "JSON lines",
}
DecimalMark = Literal[".", ","]
Precision = Literal["float64", "float32"]
Language = Literal["c", "java", "javascript"]
SqlDialect = Literal["duckdb", "postgres", "sqlite", "spark"]
CurveKind = Literal["net_benefit", "cost"]
ThemeName = Literal["light", "dark"]
