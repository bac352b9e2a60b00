"""ONNX graphs: nodes, constants, and the search for the step of a score.

They use operators of opset 13, so that runtimes of many years can run them; from
ai.onnx.ml only the table of groups.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray
    from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto

OPSET = 13
IR_VERSION = 7
ML = "ai.onnx.ml"


class Graph:
    """A graph that is built node by node; a tensor is identified by its name."""

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []
        self.inputs: list[ValueInfoProto] = []
        self.outputs: list[ValueInfoProto] = []
        self.versions = {"": OPSET}
        self._named = 0

    def input(self, name: str, dtype: Any, shape: Sequence[str | int]) -> str:
        """Add an input; return its name."""
        self.inputs.append(_described(name, dtype, shape))
        return name

    def output(
        self, name: str, tensor: str, dtype: Any, shape: Sequence[str | int]
    ) -> None:
        """Make a tensor an output with this name."""
        from onnx import helper

        self.nodes.append(helper.make_node("Identity", [tensor], [name]))
        self.outputs.append(_described(name, dtype, shape))

    def constant(self, values: Any) -> str:
        """Add a constant; return its name."""
        from onnx import numpy_helper

        array = np.asarray(values)
        name = self._name("constant")
        made = numpy_helper.from_array(np.ascontiguousarray(array), name)
        made.dims[:] = array.shape  # a scalar has lost it
        self.constants.append(made)
        return name

    def add(
        self, operator: str, *inputs: str, domain: str = "", **settings: Any
    ) -> str:
        """Add a node; return the name of its output."""
        from onnx import helper

        name = self._name(operator.lower())
        made = helper.make_node(operator, inputs, [name], domain=domain, **settings)
        self.nodes.append(made)
        return name

    def cast(self, tensor: str, dtype: Any) -> str:
        """Convert a tensor to a numpy type."""
        return self.add("Cast", tensor, to=_element(dtype))

    def steps_of(self, scores: str, starts: NDArray[np.floating[Any]]) -> str:
        """Return the number of each score's step; for NaN, the one after the last.

        `starts` ascend from -inf. The search halves the remaining range in a fixed
        number of rounds, so it needs no loop and treats all rows alike.
        """
        n_after, index = starts.size - 1, self.constant(np.int64(0))
        rounds = n_after.bit_length()
        padded = np.full(2**rounds - 1, np.inf, starts.dtype)
        padded[:n_after] = starts[1:]
        table = self.constant(padded)
        for step in 2 ** np.arange(rounds)[::-1]:
            place = self.add("Add", index, self.constant(np.int64(step - 1)))
            index = self._moved(scores, self.add("Gather", table, place), index, step)
        # The padding is not a step, although a score of +inf reaches it.
        index = self.add("Min", index, self.constant(np.int64(n_after)))
        return self._or_missing(scores, index, n_after + 1)

    def steps_of_groups(
        self,
        scores: str,
        owners: str,
        starts: Sequence[NDArray[np.floating[Any]]],
    ) -> str:
        """Return the number of each score's step in the joined tables of the owners."""
        sizes = np.array([table.size for table in starts])
        # The first start is -inf and needs no test; each table is followed by +inf.
        joined = np.concatenate([np.append(table[1:], np.inf) for table in starts])
        table = self.constant(joined.astype(starts[0].dtype))
        firsts = self.constant(np.cumsum(sizes) - sizes)
        first = self.add("Gather", firsts, owners)
        last = self.add("Gather", self.constant(sizes - 1), owners)
        index = self.constant(np.int64(0))
        for step in 2 ** np.arange(int(sizes.max() - 1).bit_length())[::-1]:
            place = self.add("Add", index, self.constant(np.int64(step - 1)))
            place = self.add("Add", first, self.add("Min", place, last))
            index = self._moved(scores, self.add("Gather", table, place), index, step)
        index = self.add("Add", first, self.add("Min", index, last))
        return self._or_missing(scores, index, int(sizes.sum()))

    def _moved(self, scores: str, start: str, index: str, step: Any) -> str:
        """Advance by this many steps if the step there starts at or below the score."""
        reached = self.cast(self.add("LessOrEqual", start, scores), np.int64)
        by = self.add("Mul", reached, self.constant(np.int64(step)))
        return self.add("Add", index, by)

    def _or_missing(self, scores: str, index: str, missing: int) -> str:
        is_missing = self.add("IsNaN", scores)
        return self.add("Where", is_missing, self.constant(np.int64(missing)), index)

    def read(self, values: NDArray[np.float64], steps: str) -> str:
        """Return the value at each step; a score without a step gets NaN."""
        table = self.constant(np.append(values, np.nan))
        return self.add("Gather", table, steps)

    def model(self, facts: Mapping[str, str]) -> ModelProto:
        """Return the checked model, with its metadata."""
        import onnx
        from onnx import helper

        released = version("abers")
        graph = helper.make_graph(
            self.nodes, "abers", self.inputs, self.outputs, self.constants
        )
        made = helper.make_model(
            graph,
            opset_imports=[
                helper.make_opsetid(*each) for each in self.versions.items()
            ],
            ir_version=IR_VERSION,
            producer_name="abers",
            producer_version=released,
        )
        helper.set_model_props(made, {"abers.version": released, **facts})
        onnx.checker.check_model(made, full_check=True)
        return made

    def _name(self, stem: str) -> str:
        self._named += 1
        return f"{stem}_{self._named}"


class Arithmetic:
    """The operations of a formula, as nodes of a graph."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def number(self, value: float) -> str:
        """Add a constant."""
        return self._graph.constant(np.float64(value))

    def plus(self, a: str, b: str) -> str:
        """Add a sum."""
        return self._graph.add("Add", a, b)

    def times(self, a: str, b: str) -> str:
        """Add a product."""
        return self._graph.add("Mul", a, b)

    def inverse(self, a: str) -> str:
        """Add 1 divided by a number."""
        return self._graph.add("Div", self.number(1.0), a)

    def exp(self, a: str) -> str:
        """Add e to the power of a number."""
        return self._graph.add("Exp", a)

    def log(self, a: str) -> str:
        """Add a natural logarithm."""
        return self._graph.add("Log", a)

    def within(self, a: str, low: float, high: float) -> str:
        """Add a number clipped to an interval."""
        above = self._graph.add("Max", a, self.number(low))
        return self._graph.add("Min", above, self.number(high))

    def single(self, a: str) -> str:
        """Add a number rounded to single precision."""
        return self._graph.cast(self._graph.cast(a, np.float32), np.float64)


def _element(dtype: Any) -> int:
    from onnx import TensorProto, helper

    kind = np.dtype(dtype)
    if kind.kind in "UO":
        return int(TensorProto.STRING)
    return int(helper.np_dtype_to_tensor_dtype(kind))


def _described(name: str, dtype: Any, shape: Sequence[str | int]) -> ValueInfoProto:
    from onnx import helper

    return helper.make_tensor_value_info(name, _element(dtype), shape)
