"""Exchange: a single rule with more distinct scores than the driver can add.

Diagrams are cut at scores that the driver chooses once (`repartitionByRange` would
choose again in each job). The pieces of each part meet on one worker, which summarises
the part. Given the summaries of all parts, it then fits its piece of the rule. Only
summaries and fitted pieces come to the driver. `abers.core.blocks` has the mathematics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from abers.core import blocks
from abers.core.auc import pairs_in_order
from abers.core.blocks import Piece, Summary
from abers.core.diagram import NOTHING, Diagram
from abers.engines.counting import CHANGED, added_up, as_diagram
from abers.engines.messages import from_bytes, to_bytes
from abers.engines.parts import auc_of_parts, cut, splitters
from abers.engines.spark.frames import collected, persisted, record_batch, rows_of
from abers.errors import InvalidData, InvalidParameter
from abers.validation import as_count

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from abers.core.rule import Rule
    from abers.engines.counting import CountedFrame
    from abers.engines.spark.frames import Batches
    from abers.validation import FloatArray

GROUPED_SCORES = 100_000_000  # of all groups together: 1 GB of diagrams on the driver
SHARES = "part int, share binary"
PARTS = "part int, in_order double, summary binary, diagram binary"
PIECES = "piece binary"
GROUPS = "group string, n_scores bigint, diagram binary"


def fit_parts(
    counted: DataFrame, frame: CountedFrame, n_parts: int | None, *, increasing: bool
) -> tuple[Rule, float]:
    """Fit one rule in parts; also return its AUC."""
    samples = collected(counted.select("n_scores", "sample"))
    borders = splitters([(n, np.frombuffer(each)) for n, each in samples], n_parts)
    n_parts, scale = borders.size + 1, frame.scale
    shares = counted.select("diagram").mapInArrow(cutting(borders, scale), SHARES)
    merging = merging_parts(scale, increasing=increasing)
    parts = shares.repartitionById(n_parts, "part").mapInArrow(merging, PARTS)
    with persisted(parts) as kept_parts:
        columns = kept_parts.select("part", "in_order", "summary")
        summarised = {part: each for part, *each in collected(columns)}
        empty = to_bytes(blocks.summarise(NOTHING, scale=scale, increasing=increasing))
        messages = [summarised.get(i, (0.0, empty))[1] for i in range(n_parts)]
        summaries = [from_bytes(each, Summary) for each in messages]
        frame.check_totals(
            sum(each.n_negatives for each in summaries),
            sum(each.n_positives for each in summaries),
        )
        held = kept_parts.select("part", "diagram")
        fitted = collected(held.mapInArrow(fitting_pieces(messages), PIECES))
    if any(not piece for (piece,) in fitted):
        raise InvalidData(CHANGED)
    pieces = [from_bytes(piece, Piece) for (piece,) in fitted]
    pieces += [
        blocks.piece(NOTHING, blocks.context(summaries, part))
        for part in range(n_parts)
        if part not in summarised
    ]
    in_order = [summarised.get(part, (0.0, empty))[0] for part in range(n_parts)]
    return blocks.join(pieces, summaries), auc_of_parts(in_order, summaries)


def merged_groups(counted: DataFrame, frame: CountedFrame) -> dict[Any, Diagram]:
    """Add the diagrams of each group on a worker, then fetch them."""
    merging = merging_groups(frame.scale)
    meeting = counted.select("group", "diagram").repartition("group")
    with persisted(meeting.mapInArrow(merging, GROUPS)) as merged:
        n_scores = sum(n for (n,) in collected(merged.select("n_scores")))
        if n_scores > GROUPED_SCORES:
            msg = (
                f"groups must have at most {GROUPED_SCORES:,} distinct scores "
                f"together, because the driver holds them; got {n_scores:,}. Round the "
                "scores, or fit some groups at a time."
            )
            raise InvalidParameter(msg)
        diagrams = added_up(collected(merged.select("group", "diagram")))
    frame.check_totals(
        sum(int(each.n_rows - each.n_positives) for each in diagrams.values()),
        sum(int(each.n_positives) for each in diagrams.values()),
    )
    return diagrams


def as_n_parts(n_parts: object) -> int:
    """Return the number of parts, at least one."""
    wanted = as_count(n_parts, "n_parts")
    if not wanted:
        msg = f"n_parts must be at least 1; got {n_parts!r}."
        raise InvalidParameter(msg)
    return wanted


def cutting(borders: FloatArray, scale: int) -> Any:
    """Return a worker's function that cuts diagrams before they are exchanged."""

    def cut_diagrams(batches: Batches) -> Iterator[pa.RecordBatch]:
        for (message,) in rows_of(batches):
            diagram = as_diagram(message, scale)
            if not diagram:  # all weights round to 0
                continue
            shares = enumerate(cut(from_bytes(diagram, Diagram), borders))
            rows = [(i, to_bytes(share)) for i, share in shares if share.scores.size]
            yield record_batch(rows, SHARES)

    return cut_diagrams


def merging_parts(scale: int, *, increasing: bool) -> Any:
    """Return a worker's function that merges the shares of a part."""

    def merge(batches: Batches) -> Iterator[pa.RecordBatch]:
        for number, part in added_up(rows_of(batches)).items():
            summary = blocks.summarise(part, scale=scale, increasing=increasing)
            messages = to_bytes(summary), to_bytes(part)
            in_order = pairs_in_order(part.negatives, part.positives)
            yield record_batch([(number, in_order, *messages)], PARTS)

    return merge


def fitting_pieces(summaries: Sequence[bytes]) -> Any:
    """Return a worker's function that fits a part, given the summaries of all."""

    def fit(batches: Batches) -> Iterator[pa.RecordBatch]:
        unpacked = [from_bytes(each, Summary) for each in summaries]
        for number, message in rows_of(batches):
            part = from_bytes(message, Diagram)
            try:
                piece = to_bytes(blocks.piece(part, blocks.context(unpacked, number)))
            except InvalidData:  # raised again on the driver, where it can be read
                piece = b""
            yield record_batch([(piece,)], PIECES)

    return fit


def merging_groups(scale: int) -> Any:
    """Return a worker's function that adds the diagrams of whole groups."""

    def merge(batches: Batches) -> Iterator[pa.RecordBatch]:
        rows = rows_of(batches)
        diagrams = ((group, as_diagram(each, scale)) for group, each in rows)
        for group, own in added_up(diagrams).items():
            yield record_batch([(group, own.scores.size, to_bytes(own))], GROUPS)

    return merge
