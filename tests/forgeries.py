"""Contents that no fit can have made, by what is wrong with them.

For each thing a table: a name, what is changed (arrays as lists; a function makes the
new array of the old one), and part of the sentence that refuses it. A fit can have made
what is not here: 999 folds without rows, p-values that are not those of the scores, of
which a monitor does not keep the order.
"""

import json
import math
import struct
import zlib
from typing import NamedTuple

import numpy as np

import abers
import fitted_things
import plain_writer
from abers.core.curves import Matrix
from fitted_things import THINGS

INF, NAN = math.inf, math.nan
NINES = int("9" * 400)  # beyond all floats
HUGE = 2**63 - 1
NONE, NO_ROWS = np.empty(0), np.empty(0, np.int64)
LONG, LATER = np.full(4, 2.0), np.full(31, 0.5)

THRESHOLDS = "its thresholds are not calibration scores in order"
STEPS = "its bounds are not monotone values that change at each threshold"
LENGTHS = "its bounds are not one more than its thresholds"
QUANTILES = "its score quantiles are not 101 ascending scores"
ROWS = "its bounds are not those of its rows"
COUNTED, SUMS = "its cells do not count rows", "its cells do not add up"
RANKS = "its cells do not have the rows of their percents"
CUTS = "its cells are not cut at its score quantiles"
MISSING, ZERO = "must not be NaN", "must not have a zero with a sign"
FLOATS, INTS = "must be float64, not", "must be int64, not"
TAGS = {
    "tags that are missing": ({"metadata": None}, "its metadata must not be None"),
    "tags in a list": ({"metadata": []}, r"its metadata must not be \[\]"),
    "a tag that is a list": ({"metadata": {"a": [1]}}, "its metadata must not be"),
    "a tag in a tag": ({"metadata": {"a": {"b": 1}}}, "its metadata must not be"),
    "a huge tag": ({"metadata": {"a": NINES}}, "its metadata must not be"),
    "half a character": ({"metadata": {"a": "\ud83d"}}, "its metadata must not be"),
    "a tag of our own": ({"metadata": {"abers:x": 1}}, "its metadata must not be"),
    "a prior that is none": (
        {"metadata": {"abers:prior": 1.5}},
        "its metadata must not be",
    ),
    "a guarantee that is a number": (
        {"metadata": {"abers:guarantee": 1}},
        "its metadata must not be",
    ),
}
FLAG = {
    "a number for a flag": ({"increasing": 1}, "its increasing must not be 1"),
    "text for a flag": ({"increasing": "true"}, "its increasing must not be 'true'"),
    "no flag": ({"increasing": None}, "its increasing must not be None"),
}
# Of the rule of scores 1, 2, 3 with labels 0, 1, 0: lower bounds 0, 0, 1/3, 1/3, upper
# ones 1/2, 2/3, 2/3, 1. The cuts are 1, 2, 3 and the four cells have 0, 1, 1, 1 rows.
RULE = abers.fit_rule([1, 2, 3], [0, 1, 0])
FALLING = {"lower": [1 / 3, 1 / 3, 0.0, 0], "upper": [1, 2 / 3, 2 / 3, 1 / 2]}
FORGED_RULES = {
    "unsorted thresholds": ({"thresholds": [2.0, 1, 3]}, THRESHOLDS),
    "a threshold twice": ({"thresholds": [1.0, 1, 3]}, THRESHOLDS),
    "a threshold that is NaN": ({"thresholds": [1, 2, NAN]}, MISSING),
    "a threshold at -inf": (
        {"thresholds": [-INF, 2, 3], "score_quantiles": [-INF] + [3.0] * 100},
        THRESHOLDS,
    ),
    "a threshold of -0.0": ({"thresholds": [-0.0, 2, 3]}, ZERO),
    "thresholds outside of the quantiles": (
        {"thresholds": [11.0, 12, 13]},
        THRESHOLDS,
    ),
    "a threshold below the quantiles": ({"thresholds": [0.5, 2, 3]}, THRESHOLDS),
    "integer thresholds": ({"thresholds": [1, 2, 3]}, FLOATS),
    "integer bounds": ({"lower": [0, 0, 0, 0]}, FLOATS),
    "bounds that fall": (FALLING, STEPS),
    "the other direction": ({"increasing": False}, STEPS),
    "a lower bound that falls": ({"lower": [0, 0.4, 1 / 3, 1 / 3]}, STEPS),
    "an upper bound that falls": ({"upper": [1 / 2, 2 / 3, 0.6, 1]}, STEPS),
    "crossed bounds": ({"lower": [0, 0.7, 0.7, 0.7]}, STEPS),
    "exchanged bounds": (
        {"lower": [1 / 2, 2 / 3, 2 / 3, 1], "upper": [0, 0, 1 / 3, 1 / 3]},
        STEPS,
    ),
    "a step at which nothing changes": ({"upper": [1 / 2, 1 / 2, 2 / 3, 1]}, STEPS),
    "a bound below 0": ({"lower": [-0.1, 0, 1 / 3, 1 / 3]}, "are not probabilities"),
    "a bound above 1": ({"upper": [1 / 2, 2 / 3, 2 / 3, 1.1]}, "are not probabilities"),
    "an infinite bound": (
        {"upper": [1 / 2, 2 / 3, 2 / 3, INF]},
        "are not probabilities",
    ),
    "a bound that is NaN": ({"lower": [0, NAN, 1 / 3, 1 / 3]}, MISSING),
    "a bound of -0.0": ({"lower": [-0.0, 0, 1 / 3, 1 / 3]}, ZERO),
    "equal bounds": ({"lower": [0, 0.2, 0.4, 0.6], "upper": [0, 0.2, 0.4, 0.6]}, ROWS),
    "bounds too close": ({"lower": [0.45, 0.46, 0.5, 0.5]}, ROWS),
    "0 and 1 of a few rows": (
        {
            "lower": [0.0, 1],
            "upper": [0.0, 1],
            "thresholds": [2.0],
        },
        ROWS,
    ),
    "no positives, but bounds of some": (
        {"n_positives": 0, "cell_positives": [0, 0, 0, 0]},
        ROWS,
    ),
    "positives alone, but bounds of others": (
        {"n_positives": 3, "cell_positives": [0, 1, 1, 1]},
        ROWS,
    ),
    "too few bounds": ({"lower": [0.0, 0, 0]}, LENGTHS),
    "too many bounds": ({"upper": [0.5, 0.6, 0.7, 0.8, 1]}, LENGTHS),
    "too few thresholds": ({"thresholds": [1.0, 2]}, LENGTHS),
    "no piece": ({"thresholds": NONE, "lower": NONE, "upper": NONE}, LENGTHS),
    "100 steps of 3 rows": (
        {
            "thresholds": np.linspace(1, 3, 100),
            "lower": np.linspace(0, 0.2, 101),
            "upper": np.linspace(0.8, 1, 101),
        },
        "its steps are more than its rows can make",
    ),
    "7 quantiles": ({"score_quantiles": [1.0, 1, 1, 2, 2, 3, 3]}, QUANTILES),
    "102 quantiles": ({"score_quantiles": [1.0] * 102}, QUANTILES),
    "no quantiles": ({"score_quantiles": NONE}, QUANTILES),
    "falling quantiles": ({"score_quantiles": [2.0] + [1.0] * 100}, QUANTILES),
    "a quantile that is NaN": ({"score_quantiles": [1.0] * 100 + [NAN]}, MISSING),
    "quantiles of -0.0": ({"score_quantiles": [-0.0] * 101}, ZERO),
    "quantiles that are all inf": ({"score_quantiles": [INF] * 101}, THRESHOLDS),
    "a cell too few": (
        {"cell_counts": [0, 1, 2], "cell_positives": [0, 1, 0]},
        COUNTED,
    ),
    "positives of some cells": ({"cell_positives": [0, 1]}, COUNTED),
    "cells of no rows": ({"cell_counts": NO_ROWS}, "its cells have no rows"),
    "negative positives": ({"cell_positives": [0, 2, -1, 0]}, COUNTED),
    "more positives than rows in a cell": ({"cell_positives": [0, 0, 2, 0]}, COUNTED),
    "negative cells": ({"cell_counts": [-1, 2, 1, 1]}, COUNTED),
    "cells of two types": ({"cell_counts": [0.0, 1, 1, 1]}, COUNTED),
    "real cells without squares": (
        {"cell_counts": [0.0, 1, 1, 1], "cell_positives": [0.0, 0, 1, 0]},
        COUNTED,
    ),
    "squares of some cells": ({"cell_squares": [0.0, 1, 1]}, COUNTED),
    "squares that are integers": ({"cell_squares": [0, 1, 1, 1]}, FLOATS),
    "squares of no rows": ({"cell_squares": [1.0, 1, 1, 1]}, COUNTED),
    "no square of a row": ({"cell_squares": [0.0, 0, 1, 1]}, COUNTED),
    "tiny squares": ({"cell_squares": [0.0, 1e-300, 1e-300, 1e-300]}, COUNTED),
    "squares above that of the sum": ({"cell_squares": [0.0, 1, 1, 2]}, COUNTED),
    "negative squares": ({"cell_squares": [0.0, 1, 1, -1]}, COUNTED),
    "infinite squares": ({"cell_squares": [0.0, 1, 1, INF]}, COUNTED),
    "a square that is NaN": ({"cell_squares": [0.0, 1, 1, NAN]}, MISSING),
    "a square of -0.0": ({"cell_squares": [-0.0, 1, 1, 1]}, ZERO),
    "cells that do not add up": ({"cell_counts": [0, 1, 1, 2]}, SUMS),
    "positives that do not add up": ({"cell_positives": [0, 1, 1, 0]}, SUMS),
    "all rows in the last cell": (
        {"cell_counts": [0, 0, 0, 3], "cell_positives": [0, 0, 0, 1]},
        RANKS,
    ),
    "more positives than rows": ({"n_positives": 4}, "more than its rows"),
    "negative positives in all": ({"n_positives": -1}, "its n_positives must not be"),
    "positives as a float": ({"n_positives": 1.0}, "its n_positives must not be 1.0"),
    "positives of -0.0": ({"n_positives": -0.0}, "its n_positives must not be -0.0"),
    "a flag for positives": ({"n_positives": True}, "its n_positives must not be True"),
    "no number of positives": ({"n_positives": None}, "its n_positives must not be"),
    "0 rows": (
        {"n_rows": 0, "n_positives": 0},
        "it was fitted to nothing",
    ),
    "rows as a float": ({"n_rows": 3.0}, "its n_rows must not be 3.0"),
    "text for a number": ({"n_rows": "6"}, "its n_rows must not be"),
    "a list for a number": ({"n_rows": [3]}, "its n_rows must not be"),
    "a flag for a number": ({"n_rows": True}, "its n_rows must not be"),
    "rows beyond doubles": ({"n_rows": 2**53 + 1}, "its n_rows must"),
    "rows beyond floats": ({"n_rows": NINES}, "its n_rows must not be"),
    **FLAG,
    **TAGS,
}
# Of the rule of 2,500 rows; 21 of them are below the first cut, 21 from the last on.
FORGED_CUTS = {
    "falling cuts": ({"cell_cuts": lambda cuts: cuts[::-1]}, CUTS),
    "a cut too few": ({"cell_cuts": lambda cuts: cuts[1:]}, COUNTED),
    "a cut that is NaN": ({"cell_cuts": lambda cuts: [*cuts[1:], NAN]}, MISSING),
    "a cut below all scores": ({"cell_cuts": lambda cuts: [-INF, *cuts[1:]]}, CUTS),
    "a cut above all scores": ({"cell_cuts": lambda cuts: [*cuts[:-1], 9e3]}, CUTS),
    "no cut at the median": (
        {"cell_cuts": lambda cuts: np.where(cuts == 1250, 1250.5, cuts)},
        CUTS,
    ),
    "integer cuts": ({"cell_cuts": lambda cuts: cuts.astype(np.int64)}, FLOATS),
    "more cuts than any rule has": (
        {"cell_cuts": lambda cuts: np.arange(1.0, cuts[-1])},
        CUTS,
    ),
    "rows in another cell": (
        {"cell_counts": lambda counts: counts[::-1].copy()},
        RANKS,
    ),
}
WEIGHTS = "its weights are not those of a calibration set"
EQUAL = "its arrays are not equally long"
# Of the diagram of scores 1, 2 with negatives 2, 4 and positives 1, 0.
DIAGRAM = abers.rules.Diagram([1, 2], [2, 4], [1, 0])
FORGED_DIAGRAMS = {
    "falling scores": ({"scores": [2.0, 1]}, "its scores are not ascending"),
    "a score twice": ({"scores": [1.0, 1]}, "its scores are not ascending"),
    "a score that is NaN": ({"scores": [1, NAN]}, MISSING),
    "a score of -0.0": ({"scores": [-0.0, 2]}, ZERO),
    "integer scores": ({"scores": [1, 2]}, FLOATS),
    "a score too many": ({"scores": [1.0, 2, 3]}, EQUAL),
    "positives of one score": ({"positives": [1]}, EQUAL),
    "nothing": ({"negatives": NO_ROWS, "positives": NO_ROWS, "scores": NONE}, EQUAL),
    "real positives": ({"positives": [1.0, 0]}, INTS),
    "real negatives": ({"negatives": [2.0, 4]}, INTS),
    "negative negatives": ({"negatives": [-1, 4]}, WEIGHTS),
    "negative positives": ({"positives": [1, -1]}, WEIGHTS),
    "nothing at a score": ({"negatives": [2, 0]}, WEIGHTS),
    "2**53 rows": ({"negatives": [2, 2**53 - 3]}, WEIGHTS),
    "rows that overflow": ({"negatives": [HUGE, HUGE]}, WEIGHTS),
    "2**53 units with a new case": (
        {"scale": 1, "negatives": [2, 2**53 - 4]},
        WEIGHTS,
    ),
    "units that are all even": (
        {"scale": 1, "positives": [2, 0]},
        "are not in the largest unit that they have in common",
    ),
    "a negative scale": ({"scale": -1}, "its scale must not be -1"),
    "a scale of 53": ({"scale": 53}, "its scale must not be 53"),
    "a real scale": ({"scale": 1.0}, "its scale must not be 1.0"),
    "a flag for a scale": ({"scale": True}, "its scale must not be True"),
    "no scale": ({"scale": None}, "its scale must not be None"),
    **TAGS,
}
SIZES, SCORES = "its sizes are not those of its arrays", "its scores are not ascending"
SCALES = "its scales are not those of its parts"
# Of the folds, or groups, of scores 1, 2 and of 0.
FORGED_PARTS = {
    "falling scores": ({"scores": [2.0, 1, 0]}, SCORES),
    "a score twice": ({"scores": [1.0, 1, 0]}, SCORES),
    "a score of -0.0": ({"scores": [1.0, 2, -0.0]}, ZERO),
    "a score that is NaN": ({"scores": [1.0, 2, NAN]}, MISSING),
    "integer scores": ({"scores": [1, 2, 0]}, FLOATS),
    "a score too few": ({"scores": [1.0, 2]}, SIZES),
    "no scores": ({"scores": NONE}, SIZES),
    "a negative too few": ({"negatives": [1, 0]}, EQUAL),
    "negative negatives": ({"negatives": [1, 0, -1]}, WEIGHTS),
    "nothing at a score": ({"negatives": [1, 0, 0]}, WEIGHTS),
    "real negatives": ({"negatives": [1.0, 0, 1]}, INTS),
    "real positives": ({"positives": [0.0, 1, 0]}, INTS),
    "rows that overflow": ({"negatives": [HUGE, 0, HUGE]}, WEIGHTS),
    "a part of 2**53 rows": ({"negatives": [2**53, 0, 1]}, "its weights are"),
    "2**53 rows in all": (
        {"negatives": [2**52, 0, 2**52 - 1]},
        "its weights are too large in all",
    ),
    "a scale too few": ({"scales": [0]}, SCALES),
    "a negative scale": ({"scales": [0, -1]}, "its scale must not be -1"),
    "a scale of 53": ({"scales": [53, 0]}, "its scale must not be 53"),
    "real scales": ({"scales": [0.0, 0]}, INTS),
    "units that are all even": (
        {"scales": [1, 0], "negatives": [2, 0, 1], "positives": [0, 2, 0]},
        "are not in the largest unit that they have in common",
    ),
    "one part of two": ({"sizes": [3], "scales": [0]}, SCORES),
    "a part of less than nothing": ({"sizes": [4, -1]}, SIZES),
    "parts too large": ({"sizes": [2, 2]}, SIZES),
    "parts too small": ({"sizes": [1, 1]}, SIZES),
    "a huge part": ({"sizes": [2, HUGE]}, SIZES),
    "sizes of 0 in all, modulo 2**64": (
        {
            "sizes": [2, HUGE, HUGE],
            "scales": [0, 0, 0],
            "negatives": NO_ROWS,
            "positives": NO_ROWS,
            "scores": NONE,
        },
        SIZES,
    ),
    "no sizes": ({"sizes": NO_ROWS}, SIZES),
    "real sizes": ({"sizes": [2.0, 1]}, INTS),
    "sizes in bytes": ({"sizes": np.array([2, 1], np.uint8)}, INTS),
    **FLAG,
    **TAGS,
}
POOLED_RULE = abers.rules.fit_pooled_rule([1, 2, 0], [0, 1, 0], [0, 0, 1])
FORGED_POOLED_RULES = FORGED_PARTS | {
    f"weight {str(weight)[:20]!r}": ({"weight": weight}, "its weight must not be")
    for weight in [
        *("0", "-1", "+1", "01", "1/1", "2/4", "1/0", "1/-2", "0/2", "1 /2", "1_0"),
        *("1\n", "0.5", "1e999999999", "\u0661", "nan", "inf", ""),
        *(str(2**53), f"1/{2**53}", "9" * 17, "9" * 16 + "/" + "8" * 16, "9" * 5000),
        *(1, 0.5, True, None, [1, 2]),
    ]
}
NAMED, ORDERED = "its groups are not names of one", "its groups are not distinct and in"
GROUPED = ([1, 2, 0], [0, 1, 0], ["a", "a", "b"])
BOTH = "it has both diagrams and rules"
FORGED_NAMES = {
    f"groups {names[:20]}": ({"names": names}, reason)
    for reason, cases in {
        ORDERED: [
            *('["b","a"]', '["a","a"]', '"ab"', '{"a":1,"b":2}', "[null,null]"),
            "[-0.0,1.0]",
        ],
        NAMED: [
            *('["a",1]', "[0,1.5]", "[1,2.0]", "[null]"),
            *('["a",null]', '[["a"],["b"]]', "12", '["a","b"', "[" * 10**5),
            *(
                '["a","\\ud83d"]',
                f"[1,{NINES}]",
                f"[1,{'9' * 5000}]",
                "[1.5,1e999]",
            ),
            *("[0,true]", "[1.5,NaN]"),
            # Not as abers writes them.
            *("[1.50,2.0]", '["a", "b"]', '["a","b"]' + " " * 8),
            *('["a","\\u0062"]', '["a","é"]'),
        ],
    }.items()
    for names in cases
} | {
    "real names": ({"names": [1.0, 2]}, "its names must be bytes"),
    "a negative minimum": ({"minimum": -1}, "its minimum must not be -1"),
    "a real minimum": ({"minimum": 1.0}, "its minimum must not be 1.0"),
    "a flag for a minimum": ({"minimum": True}, "its minimum must not be True"),
    "no minimum": ({"minimum": None}, "its minimum must not be None"),
    "a minimum of 2**70": ({"minimum": 2**70}, "its minimum must not be"),
}
EACH = "its groups do not have a diagram each"
FORGED_DIAGRAMS_OF_SETS = {
    **FORGED_PARTS,
    **FORGED_NAMES,
    "no sizes": ({"sizes": NO_ROWS}, BOTH),
    "a name too few": ({"names": '["a"]'}, EACH),
    "a name too many": ({"names": '["a","b","c"]'}, EACH),
    "a group without rows": (
        {"sizes": [2, 0, 1], "scales": [0, 0, 0], "names": '["a","b","c"]'},
        EACH,
    ),
    "a length": ({"lengths": [0]}, BOTH),
    "a total": ({"total_rows": [3.0]}, BOTH),
    "a bound": ({"rule_lower": [0.5]}, BOTH),
}
# Of "a" with two rows, one of which is a 1, of "b" with one, and of all three.
PER_GROUP, OF_ROWS = "its groups do not have totals each", "its totals are not those of"
OF_GROUPS = "its totals are not those of its groups"
NOT_LISTED = "its rules are not those that it lists"
FORGED_RULE_SETS = {
    **FORGED_NAMES,
    "a diagram": ({"scores": [1.0], "negatives": [1], "positives": [0]}, BOTH),
    "a diagram of a group": (
        {"scores": [1.0], "negatives": [1], "positives": [0]}
        | {"sizes": [1], "scales": [0]},
        BOTH,
    ),
    "no names": ({"names": "[]"}, NAMED),
    "a name too few": ({"names": '["a"]'}, OF_GROUPS),
    "a name too many": ({"names": '["a","b","c"]'}, PER_GROUP),
    "no totals": ({"total_rows": NONE, "total_positives": NONE}, PER_GROUP),
    "a total too few": ({"total_rows": [2.0, 1]}, PER_GROUP),
    "integer totals": ({"total_rows": [2, 1, 3]}, FLOATS),
    "a group of no rows": ({"total_rows": [2.0, 0, 3]}, OF_ROWS + " rows"),
    "negative positives": ({"total_positives": [-1.0, 0, 1]}, OF_ROWS + " rows"),
    "more positives than rows": ({"total_positives": [1.0, 2, 1]}, OF_ROWS + " rows"),
    "infinitely many rows": ({"total_rows": [INF, 1, INF]}, OF_ROWS + " rows"),
    "rows beyond 2**53": ({"total_rows": [2.0**54, 1, 2.0**54]}, OF_ROWS + " rows"),
    "totals that are NaN": ({"total_rows": [NAN, 1, 3]}, MISSING),
    "a row more in all": ({"total_rows": [2.0, 1, 4]}, OF_GROUPS),
    "a positive more in all": ({"total_positives": [1.0, 0, 2]}, OF_GROUPS),
    "a rest that is too small": (
        {"total_rows": [2.0, 1, 3, 1], "total_positives": [1.0, 0, 1, 0]},
        OF_GROUPS,
    ),
    "another minimum": ({"minimum": 2}, NOT_LISTED),
    "no minimum at all": ({"minimum": 0}, NOT_LISTED),
    "no lengths": ({"lengths": NO_ROWS}, NOT_LISTED),
    "huge lengths": ({"lengths": lambda lengths: lengths * 0 + HUGE}, NOT_LISTED),
    "real lengths": ({"lengths": lambda lengths: lengths / 1}, INTS),
    "the rules of other groups": (
        {"total_rows": [4.0, 1, 5]},
        "its rules are not all valid: its cells do not add up",
    ),
    "falling thresholds": (
        {"rule_thresholds": lambda old: old[::-1].copy()},
        "its rules are not all valid",
    ),
    "a bound that is NaN": ({"rule_lower": lambda old: old * NAN}, MISSING),
    **FLAG,
    **TAGS,
}
# Of two groups that share a rule because they are small.
SHARED_RULE = abers.fit_rules([1, 2], [0, 1], ["a", "b"], minimum=1)
FORGED_SHARED_RULES = {
    "no rest": ({"total_rows": [1.0, 1, 2], "total_positives": [0.0, 1, 1]}, OF_GROUPS),
    "a rest of more rows": ({"total_rows": [1.0, 1, 2, 3]}, OF_GROUPS),
    "a rest without a 1": ({"total_positives": [0.0, 1, 1, 0]}, OF_GROUPS),
    "the rows of one group too many": ({"total_rows": [2.0, 1, 3, 2]}, OF_GROUPS),
    "a larger minimum": ({"minimum": 2}, OF_GROUPS),
}
POSET_RULE = abers.rules.fit_poset_rule(
    [[1, 4], [2, 3], [2, 1]], [0, 1, 0], increasing=[True, False]
)
ORDER, COUNTS = "its scores are not distinct and in order", "its counts are not those"
FORGED_POSET_RULES = {
    "unsorted vectors": ({"scores": [2.0, 3, 1, 4, 2, 1]}, ORDER),
    "a vector twice": ({"scores": [1.0, 4, 2, 3, 2, 3]}, ORDER),
    "another direction": ({"increasing": [True, True]}, ORDER),
    "a score that is NaN": ({"scores": [1.0, 4, 2, 3, 2, NAN]}, MISSING),
    "a score of -0.0": ({"scores": [-0.0, 4, 2, 3, 2, 1]}, ZERO),
    "half a vector": ({"scores": [1.0, 4, 2, 3, 2]}, "do not have the lengths"),
    "no rows": (
        {"scores": NONE, "negatives": NO_ROWS, "positives": NO_ROWS},
        "do not have the lengths",
    ),
    "integer scores": ({"scores": [1, 4, 2, 3, 2, 1]}, FLOATS),
    "a negative count": ({"negatives": [-1, 0, 1]}, COUNTS),
    "nothing at a vector": ({"negatives": [0, 0, 1]}, COUNTS),
    "real counts": ({"positives": [0, 0.5, 0]}, INTS),
    "2**32 rows": ({"negatives": [2**32, 0, 1]}, COUNTS),
    "rows that overflow": ({"negatives": [HUGE, 0, HUGE]}, COUNTS),
    "one flag": ({"increasing": [True]}, "do not have the lengths"),
    "no flags": ({"increasing": []}, r"its increasing must not be \[\]"),
    "numbers for flags": ({"increasing": [1, 0]}, "its increasing must not be"),
    "a flag for all": ({"increasing": True}, "its increasing must not be True"),
    **TAGS,
}
# Of the regression rule of scores 1, 2 with targets 2, 3 between 1 and 5: bounds are
# 1, 1.5, 1.5, 2, 2 and 10/3, 10/3, 4, 4, 5.
REGRESSION = abers.rules.fit_regression_rule([1, 2], [2, 3], low=1, high=5)
TARGETS, BETWEEN = "its bounds are not those of targets", "are not between its ends"
TRIMMED = "it is not trimmed by fewer targets than it has"
FORGED_REGRESSION_RULES = {
    "unsorted thresholds": ({"thresholds": [2.0, 1, 3, 4]}, THRESHOLDS),
    "thresholds outside of the quantiles": (
        {"thresholds": [11.0, 12, 13, 14]},
        THRESHOLDS,
    ),
    "a bound below its low": ({"lower": [0.5, 1.5, 1.5, 2, 2]}, BETWEEN),
    "a bound above its high": ({"upper": [3.0, 3, 4, 4, 5.5]}, BETWEEN),
    "an infinite bound": ({"upper": [3.0, 3, 4, 4, INF]}, BETWEEN),
    "a bound that is NaN": ({"upper": [3.0, 3, 4, 4, NAN]}, MISSING),
    "a lower bound that falls": ({"lower": [1.0, 3, 2, 3, 3]}, STEPS),
    "bounds that fall": (
        {"lower": [2.0, 2, 1.5, 1.5, 1], "upper": [5, 4, 4, 10 / 3, 10 / 3]},
        STEPS,
    ),
    "a step at which nothing changes": ({"lower": [1.0, 1, 1, 2, 2]}, STEPS),
    "the other direction": ({"increasing": False}, STEPS),
    "an infinite bound of a trimmed end": (
        {"low": None, "trim": 1, "lower": [-INF, 1.5, 1.5, 2, 2]},
        TARGETS,
    ),
    "equal bounds": (
        {"lower": [1.0, 2, 3, 4, 5], "upper": [1.0, 2, 3, 4, 5]},
        TARGETS,
    ),
    "bounds too close": ({"upper": [2.0, 2, 2.5, 2.5, 5]}, TARGETS),
    "huge bounds of trimmed ends": (
        {
            "low": None,
            "high": None,
            "trim": 1,
            "lower": [-1.7e308, 1.5, 1.5, 2, 2],
            "upper": [10 / 3, 10 / 3, 4, 4, 1.7e308],
        },
        TARGETS,
    ),
    "100 quantiles": ({"score_quantiles": [1.0] * 100}, QUANTILES),
    "too few bounds": ({"lower": [1.0, 2]}, LENGTHS),
    "integer bounds": ({"lower": [1, 1, 2, 2, 3]}, FLOATS),
    "a low that is its high": ({"low": 5.0}, "its low is not below its high"),
    "an integer low": ({"low": 1}, "its low must not be 1"),
    "a low of -0.0": ({"low": -0.0}, "its low must not be -0.0"),
    "a low that is text": ({"low": "1"}, "its low must not be '1'"),
    "a flag for a low": ({"low": True}, "its low must not be True"),
    "no high, trimmed by none": ({"high": None}, TRIMMED),
    "trimmed though both ends are there": ({"trim": 1}, TRIMMED),
    "a real trim": ({"low": None, "trim": 1.0}, "its trim must not be 1.0"),
    "a flag for a trim": ({"low": None, "trim": True}, "its trim must not be True"),
    "trimmed by more than there are": ({"low": None, "trim": 3}, TRIMMED),
    "trimmed by all": ({"low": None, "trim": 2}, TRIMMED),
    "trimmed by 99": ({"low": None, "high": None, "trim": 99}, TRIMMED),
    "one row of 5 pieces": ({"n_rows": 1}, TARGETS),
    "0 rows": ({"n_rows": 0}, "it was fitted to nothing"),
    "rows as a float": ({"n_rows": 2.0}, "its n_rows must not be 2.0"),
    **FLAG,
    **TAGS,
}


def stacked_of(*rows_and_ones, increasing=True):
    """Contents of a stack whose rules have these numbers of rows and ones."""
    rules = []
    for rows, ones in rows_and_ones:
        places = np.arange(rows) if increasing else -np.arange(rows)
        labels = places >= np.sort(places)[-ones]
        rules.append(abers.fit_rule(np.arange(rows), labels, increasing=increasing))
    n = len(rules)
    curve = Matrix(np.eye(n), np.zeros(n), low=-9.0, high=0.0)
    weights = np.array([0.25, 0.25, 0.5])
    made = abers.rules.StackedRule(
        rules, curve, weights, kind="probability", increasing=increasing
    )
    facts, arrays = fitted_things.contents(made)
    return facts | arrays


LISTED = "its rules are not those that it lists"
VALID, TOGETHER = "its rules are not all valid: ", "its rules are not those of one set"
PER_PART, SHARES = "its weights are not one per part", "its weights are not shares of 1"
CURVE = "its coefficients are not those of a fitted curve"
# Of probabilities 1/4, 1/2, 3/4 with labels 0, 1, 0; curve and weights have 4 and 3
# numbers, and the rule has 8 arrays.
STACKED = abers.fit_stacked_rule([0.25, 0.5, 0.75], [0, 1, 0])
(OF_RULE,) = fitted_things.contents(STACKED)[0]["rules"]
FORGED_STACKED_RULES = {
    "no lengths": ({"lengths": NO_ROWS}, LISTED),
    "a length too few": ({"lengths": lambda lengths: lengths[1:]}, LISTED),
    "another length": ({"lengths": lambda lengths: lengths + 1}, LISTED),
    "negative lengths": ({"lengths": lambda lengths: -lengths}, LISTED),
    "huge lengths": ({"lengths": lambda lengths: lengths * 0 + HUGE}, LISTED),
    "real lengths": ({"lengths": lambda lengths: lengths / 1}, INTS),
    "a pooled score": ({"pooled_scores": [1.0]}, LISTED),
    "two models": ({"n_models": 2}, LISTED),
    "no model": ({"n_models": 0}, "its n_models must not be 0"),
    "half a model": ({"n_models": 0.5}, "its n_models must not be 0.5"),
    "a flag for a number": ({"n_models": True}, "its n_models must not be True"),
    "no rules": ({"rules": []}, r"its rules must not be \[\]"),
    "rules by name": ({"rules": {"a": OF_RULE}}, "its rules must not be"),
    "two rules": ({"rules": [OF_RULE, OF_RULE]}, LISTED),
    "text for a rule": ({"rules": ["rule"]}, "its rules are not described"),
    "nothing of a rule": ({"rules": [{}]}, VALID + "it holds"),
    "more of a rule": ({"rules": [OF_RULE | {"a": 1}]}, VALID + "it holds"),
    "a rule of more rows": ({"rules": [OF_RULE | {"n_rows": 9}]}, VALID),
    "a rule with a tag": ({"rules": [OF_RULE | {"metadata": {"a": 1}}]}, TOGETHER),
    "a rule of another prior": (
        {"rules": [OF_RULE | {"metadata": {"abers:prior": 0.5}}]},
        TOGETHER,
    ),
    "the other direction": ({"increasing": False}, TOGETHER),
    "one class": ({"classes": [0]}, r"its classes must not be \[0\]"),
    "a class twice": ({"classes": [1, 1]}, "its classes must not be"),
    "classes of two types": ({"classes": [0, "1"]}, "its classes must not be"),
    "classes that are lists": ({"classes": [[0], [1]]}, "its classes must not be"),
    "a class that is None": ({"classes": [None, None]}, "its classes must not be"),
    "three classes": ({"classes": [0, 1, 2]}, "its classes are not those of its rules"),
    "log-odds": ({"reads": "log-odds"}, "its scores are not of the kind"),
    "nothing to read": ({"reads": "x"}, "its reads must not be 'x'"),
    "rounded by a number": ({"is_rounded": 1}, "its is_rounded must not be 1"),
    "three columns": ({"columns": list("abc")}, "its columns are not those"),
    "a column twice": ({"columns": ["a", "a"]}, "its columns must not be"),
    "a column without a name": ({"columns": [None]}, "its columns must not be"),
    "falling thresholds": ({"rule_thresholds": lambda old: old[::-1].copy()}, VALID),
    "a bound that is NaN": ({"rule_lower": lambda old: old * NAN}, MISSING),
    "another kind": ({"kind": "p"}, "its kind must not be 'p'"),
    "no kind": ({"kind": None}, "its kind must not be None"),
    "kinds": ({"kind": ["margin"]}, "its kind must not be"),
    "margins": ({"kind": "margin"}, PER_PART),
    "a weight too few": ({"weights": [0.5, 0.5]}, PER_PART),
    "a negative weight": ({"weights": [-0.5, 0.5, 1.0]}, SHARES),
    "weights of 3/2": ({"weights": [0.5, 0.5, 0.5]}, SHARES),
    "no weight for the rule": ({"weights": [0.5, 0.5, 0.0]}, SHARES),
    "an infinite weight": ({"weights": [0.5, 0.5, INF]}, SHARES),
    "a weight that is NaN": ({"weights": [0.5, NAN, 0.5]}, MISSING),
    "a weight of -0.0": ({"weights": [-0.0, 0.5, 0.5]}, ZERO),
    "integer weights": ({"weights": [0, 0, 1]}, FLOATS),
    "a curve that falls": ({"coefficients": [-1.0, 1, 0, 0.1]}, CURVE),
    "another that falls": ({"coefficients": [1.0, -1, 0, 0.1]}, CURVE),
    "a clip of 0": ({"coefficients": [1.0, 1, 0, 0]}, CURVE),
    "a clip of 1/2": ({"coefficients": [1.0, 1, 0, 0.5]}, CURVE),
    "an infinite coefficient": ({"coefficients": [1.0, 1, INF, 0.1]}, CURVE),
    "a coefficient that is NaN": ({"coefficients": [1.0, 1, NAN, 0.1]}, MISSING),
    "a coefficient of -0.0": ({"coefficients": [1.0, 1, -0.0, 0.1]}, ZERO),
    "a coefficient too few": ({"coefficients": [1.0, 1, 0]}, CURVE),
    "no coefficients": ({"coefficients": NONE}, CURVE),
    **FLAG,
    **TAGS,
}
STACKED_MARGINS = THINGS["decreasing stacked rule of margins"]
FORGED_STACKED_MARGINS = {
    "a line that falls": ({"coefficients": [-1.0, 0, -2, 2]}, CURVE),
    "crossed ends": ({"coefficients": [1.0, 0, 2, -2]}, CURVE),
    "a matrix": ({"coefficients": np.eye(4).ravel()}, CURVE),
    "probabilities": ({"kind": "probability"}, PER_PART),
}
STACKED_MODELS = THINGS["stacked rule of two models"]
(OF_MODELS,) = fitted_things.contents(STACKED_MODELS)[0]["rules"]
FORGED_STACKED_MODELS = {
    "one model": ({"n_models": 1}, LISTED),
    "three models": ({"n_models": 3}, TOGETHER),
    "another weight": ({"rules": [OF_MODELS | {"weight": "1/2"}]}, TOGETHER),
    "falling scores": ({"pooled_scores": lambda old: old[::-1].copy()}, VALID),
    "sizes of no fold": ({"pooled_sizes": lambda old: old + 1}, VALID),
    "a threshold": ({"rule_thresholds": [1.0]}, LISTED),
}
STACKED_CLASSES = THINGS["stacked rule of three classes"]
FORGED_STACKED_CLASSES = {
    "two classes": (stacked_of((4, 2), (4, 2)), TOGETHER),
    "one class three times": (stacked_of((4, 2), (4, 2), (4, 2)), TOGETHER),
    "rules of other rows": (stacked_of((4, 1), (4, 1), (5, 2)), TOGETHER),
    "classes that fall": (
        stacked_of((4, 1), (4, 1), (4, 2), increasing=False),
        TOGETHER,
    ),
    "a curve of two classes": ({"coefficients": [1.0, 1, 0, 0.1]}, CURVE),
    "crossed ends": ({"coefficients": lambda old: [*old[:-2], 0, -9]}, CURVE),
    "an infinite end": ({"coefficients": lambda old: [*old[:-2], -INF, 0]}, CURVE),
}
OBSERVED, ARRIVALS = "its counts are not those of rows", "its arrivals are not"
FORGED_SETS = {
    "falling scores": ({"scores": lambda scores: scores[::-1].copy()}, SCORES),
    "a score that is NaN": ({"scores": lambda scores: [NAN, *scores[1:]]}, MISSING),
    "a score of -0.0": ({"scores": lambda scores: scores * -1.0}, ZERO),
    "a count too few": ({"negatives": lambda counts: counts[1:]}, EQUAL),
    "nothing at a score": ({"negatives": lambda counts: counts * 0}, OBSERVED),
    "negative counts": ({"negatives": lambda counts: counts - 2}, OBSERVED),
    "rows that overflow": ({"negatives": lambda counts: counts * 0 + HUGE}, OBSERVED),
    "real counts": ({"negatives": lambda counts: counts / 1}, INTS),
    "a window of one": ({"window": 1}, ARRIVALS),
    "a window of none": ({"window": 0}, "its window must not be 0"),
    "a window of 2**53": ({"window": 2**53}, "its window must not be"),
    "a flag for a window": ({"window": True}, "its window must not be True"),
    **FLAG,
    **TAGS,
}
FORGED_WINDOWS = {
    "more arrivals than the window": ({"window": 3}, ARRIVALS),
    "arrivals of both labels": ({"positives": lambda counts: counts + 1}, ARRIVALS),
    "arrivals that should be one": (
        {
            "scores": [2.0, 2, 3, 3],
            "negatives": [1, 1, 0, 0],
            "positives": [0, 0, 1, 1],
        },
        ARRIVALS,
    ),
}
ADD_UP, WAITING = "its rows and labels do not add up", "its waiting rows are not those"
DROPPED, P_VALUES = "its dropped rows are not rows", "its p-values are not between"
TURNED = "its p-values are not turned"
# Of 34 rows, of which 31 have labels, the last two wait and the one before was dropped.
FORGED_MONITORS = {
    "a level of 0": ({"level": 0.0}, "its level must not be 0.0"),
    "a level of 1": ({"level": 1}, "its level must not be 1"),
    "no patience": ({"max_wait": 0}, "its max_wait must not be 0"),
    "no calibration rows": ({"n_calibration": 0}, "its n_calibration must not be 0"),
    "a negative seed": ({"seed": -1}, "its seed must not be -1"),
    "a seed that is too large": ({"seed": 2**63}, "its seed must not be"),
    "a seed that is text": ({"seed": "x"}, "its seed must not be 'x'"),
    "integer p-values": ({"p_labels": [1]}, FLOATS),
    "real flags": ({"turned": [1.0]}, "its turned must be bytes"),
    "a calibration row too many": ({"n_calibration": 5}, ADD_UP),
    "one p-value of scores": ({"p_scores": [0.5]}, ADD_UP),
    "one score": ({"scores": [1.0]}, ADD_UP),
    "a p-value of labels too few": ({"p_labels": np.full(30, 0.5)}, ADD_UP),
    "falling scores": ({"scores": lambda scores: scores[::-1].copy()}, ADD_UP),
    "a count that is negative": (
        {"negatives": lambda counts: counts - (np.arange(counts.size) < 2) * [2]},
        ADD_UP,
    ),
    "dropped rows though all are waited for": ({"max_wait": None}, DROPPED),
    "a dropped row that waits": ({"dropped_rows": [32]}, DROPPED),
    "a dropped row that was not waited for": ({"dropped_rows": [31]}, DROPPED),
    "a dropped row before the first": ({"dropped_rows": [-1]}, DROPPED),
    "a dropped score that is NaN": ({"dropped_scores": [NAN]}, MISSING),
    "two dropped scores": ({"dropped_scores": [1.0, 2]}, DROPPED),
    "a label that should not wait": ({"waiting_labels": [1, -1]}, WAITING),
    "a label of 2": ({"waiting_labels": [-1, 2]}, WAITING),
    "a waiting score that is NaN": ({"waiting_scores": [1.0, NAN]}, MISSING),
    "one waiting score": ({"waiting_scores": [1.0]}, WAITING),
    "9 rows waiting of 3": (
        {
            "waiting_labels": [-1] * 9,
            "waiting_scores": [1.0] * 9,
            "p_scores": np.full(41, 0.5),
        },
        WAITING,
    ),
    "p-values of labels above 1": ({"p_labels": np.full(31, 1.5)}, P_VALUES),
    "p-values of scores that are NaN": ({"p_scores": np.full(34, NAN)}, MISSING),
    "p-values of scores that are 0": ({"p_scores": np.zeros(34)}, P_VALUES),
    "p-values of labels that are 0": ({"p_labels": np.zeros(31)}, P_VALUES),
    "flags of 2": ({"turned": np.full(31, 2, np.uint8)}, TURNED),
    "one flag": ({"turned": np.zeros(1, np.uint8)}, TURNED),
    "a capital": ({"capital": 1e300}, "instead of dropped_rows"),
    "evidence": ({"evidence": [1.0]}, "instead of dropped_rows"),
    **FLAG,
    **TAGS,
}
PROTECTED = THINGS["protected rule"]
WEIGHTED, ACCOUNT = "its weights are not shares of 1", "its account is not that of its"
IDS, BASE = "its ids are not distinct integers or texts", "its base is not valid: "
PROBABILITIES = "its waiting rows do not have probabilities"
BITS = "its excess, account and allowance are more than 1 bit"
OF_PROTECTED = fitted_things.contents(PROTECTED)[0]["base"]
# Of 11 rows that wait: 9 without ids, then "a" and "ü".
FORGED_PROTECTED = {
    "a weight too few": ({"active": lambda old: old[1:]}, WEIGHTED),
    "weights of 2": ({"active": lambda old: old * 2}, WEIGHTED),
    "a negative weight": ({"active": lambda old: [-old[0], *old[1:]]}, WEIGHTED),
    "an infinite weight": ({"active": lambda old: [INF, *old[1:]]}, WEIGHTED),
    "a weight that is NaN": ({"active": lambda old: [NAN, *old[1:]]}, MISSING),
    "an allowance of 99 bits": ({"allowance": 99.0}, BITS),
    "an allowance below 0": ({"allowance": -1e-12}, BITS),
    "an allowance of -0.0": ({"allowance": -0.0}, "its allowance must not be"),
    "an integer allowance": ({"allowance": 1}, "its allowance must not be 1"),
    "no account": ({"account": None}, "its account must not be None"),
    "another account": ({"account": 0.5}, ACCOUNT),
    "a negative account": ({"account": -1e-12}, ACCOUNT),
    "an excess of 2 bits": ({"excess": 2.0}, BITS),
    "an excess that is text": ({"excess": "1"}, "its excess must not be '1'"),
    "issued 0": ({"waiting_issued": lambda old: old * 0}, PROBABILITIES),
    "issued 1": ({"waiting_issued": lambda old: old * 0 + 1}, PROBABILITIES),
    "issued beyond 1": ({"waiting_issued": lambda old: old + 1}, PROBABILITIES),
    "a base beyond 1": ({"waiting_base": lambda old: old + 1}, PROBABILITIES),
    "other issued ones": ({"waiting_issued": lambda old: old / 2}, ACCOUNT),
    "a row too few": ({"waiting_issued": lambda old: old[1:]}, "equally long"),
    "fewer scores": ({"waiting_scores": lambda old: old[1:]}, "equally long"),
    "a score that is NaN": ({"waiting_scores": lambda old: old * NAN}, MISSING),
    "a score of -0.0": ({"waiting_scores": lambda old: [-0.0, *old[1:]]}, ZERO),
    "more ids than rows": (
        {"ids": plain_writer.names_as_bytes(str([*range(12)]).replace(" ", ""))},
        "equally long",
    ),
    **{
        f"ids {ids}": ({"ids": plain_writer.names_as_bytes(ids)}, IDS)
        for ids in [
            *('["a","a"]', '["a", "b"]', "[1.5]", "[true]", "[null]", "[[1]]", "{}"),
            *('"a"', '["a"', "[]", '["\\ud83d"]', "[9223372036854775808]", '["ü"]'),
            *("[" * 10**5, f"[{NINES}]", f"[{'9' * 5000}]"),
        ]
    },
    "no base": ({"base": None}, "its base must not be None"),
    "an empty base": ({"base": {}}, BASE),
    "a base of no rows": ({"base": OF_PROTECTED | {"n_rows": 0}}, BASE),
    "a set as the base": (
        {"base": {"increasing": True, "metadata": {}, "window": None}},
        "it has two bases",
    ),
    "a set as well": ({"set_scores": [1.0]}, "it has two bases"),
    "falling thresholds": ({"rule_thresholds": lambda old: old[::-1].copy()}, BASE),
    **TAGS,
}
# The rule of scores 1, 2, 3 with labels 0, 1, 0 and their diagram: one row at each.
WITH_DIAGRAM = abers.fit_rule([1, 2, 3], [0, 1, 0], keep_diagram=True)
OTHER = "its rule is not that of its diagram"
FORGED_DIAGRAMS_OF_RULES = {
    "a rule of another diagram": ({"diagram_negatives": [1, 1, 1]}, OTHER),
    "labels exchanged": (
        {"diagram_negatives": [0, 1, 0], "diagram_positives": [1, 0, 1]},
        OTHER,
    ),
    "a diagram with another score": ({"diagram_scores": [1.0, 2, 4]}, OTHER),
    "a diagram with a score too few": (
        {
            "diagram_scores": [1.0, 2],
            "diagram_negatives": [1, 0],
            "diagram_positives": [0, 1],
        },
        OTHER,
    ),
    "a prior": ({"metadata": {"abers:prior": 0.5}}, OTHER),
    "no diagram": (
        {
            "diagram_scores": NONE,
            "diagram_negatives": NO_ROWS,
            "diagram_positives": NO_ROWS,
        },
        "its arrays are not equally long, or empty",
    ),
    "scores that are not ascending": (
        {"diagram_scores": [2.0, 1, 3]},
        "its scores are not ascending",
    ),
    "a negative weight": (
        {"diagram_negatives": [1, -1, 1]},
        "its weights are not those of a calibration set",
    ),
    "a finer unit than needed": (
        {
            "diagram_scale": 1,
            "diagram_negatives": [2, 0, 2],
            "diagram_positives": [0, 2, 0],
        },
        "its weights are not in the largest unit",
    ),
    "a scale that is a flag": (
        {"diagram_scale": True},
        "its diagram_scale must not be True",
    ),
    "a score that is NaN": ({"diagram_scores": [1, 2, NAN]}, MISSING),
    "wrong bounds": ({"lower": [0, 0, 0.25, 0.25]}, OTHER),
}

FORGED_FILE_MONITORS = {
    "no file": ({"files": []}, "its files are not those"),
    "another file": ({"files": [["a", "b", "c", "rows"]]}, "its files are not those"),
    "a group too many": ({"groups": ["a", "b", "c"]}, "its counts are not those"),
    "groups in no order": ({"groups": ["b", "a"]}, "its groups are not texts in order"),
    "more labels": ({"positives": lambda old: old + 1}, "do not add up"),
    "no counts": ({"others": lambda old: old * 0 - 1}, "are not those of rows"),
    "another calibration": ({"n_calibration": lambda old: old * 0 + 1}, "not add up"),
    "a label 2": ({"waiting_labels": lambda old: old + 2}, "do not add up"),
    "a wait of 0": ({"max_wait": 0}, "its max_wait must not be 0"),
    "bets below 0": ({"bet_floats": lambda old: old - 1}, "its bets are not those"),
    "bets beyond a double": ({"bet_floats": lambda old: old + INF}, "its bets are not"),
    "an alarm of nothing": ({"alarms": [{}]}, "its alarms are not those"),
    "a stall of nothing": ({"stall": {}}, "its stall must not be {}"),
    "ids in bytes": ({"waiting_ids": lambda old: old[1:]}, "its ids are not those"),
    "delays missing": ({"delays": lambda old: old[1:]}, "its ids are not those"),
    **TAGS,
}
# Of five rows two have a label, and "v" and "ü" wait for theirs.
PROTECTING = THINGS["file monitor that protects"]
OF_PROTECTING = fitted_things.contents(PROTECTING)[0]["protected"]
NOT_VALID, NOT_ITS_ROWS = (
    "its protected rule is not valid: ",
    "its protected rule is not that of its rows",
)
FORGED_PROTECTING = {
    "nothing to protect": ({"protected": None}, "it must protect one rule, or have"),
    "groups": ({"groups": ["a"]}, "it must protect one rule, or have groups"),
    "no facts": ({"protected": {}}, NOT_VALID),
    "another account": ({"protected": OF_PROTECTING | {"account": 0.9}}, NOT_VALID),
    "too good": ({"protected": OF_PROTECTING | {"excess": 2.0}}, NOT_VALID),
    "other ids": (
        {"protected_ids": plain_writer.names_as_bytes('["v","x"]')},
        NOT_ITS_ROWS,
    ),
    "no ids": ({"protected_ids": np.zeros(0, np.uint8)}, NOT_ITS_ROWS),
    "other scores": ({"protected_waiting_scores": lambda old: old + 1}, NOT_ITS_ROWS),
    "another direction": ({"increasing": False}, NOT_ITS_ROWS),
}
LEVELS, BAG = "its level sets are not those of its", "are not those of one set of rows"
TOP_CLASSES = "it must have two classes or more, and rows"
FORGED_TOP_RULES = {
    "one class": ({"n_classes": 1}, TOP_CLASSES),
    "no rows": ({"n_rows": 0}, TOP_CLASSES),
    "half rows": ({"n_rows": 0.5}, "its n_rows must not be 0.5"),
    "four classes": ({"n_classes": 4}, LEVELS),
    "a threshold too few": ({"right_thresholds": lambda old: old[1:]}, LEVELS),
    "a size below 0": ({"wrong_sizes": lambda old: old - [9, 0, 0]}, LEVELS),
    "a count too few": ({"right_counts": lambda old: old[3:]}, LEVELS),
    "falling thresholds": ({"right_thresholds": lambda old: old[[1, 0, 2]]}, BAG),
    "a count below 0": ({"wrong_counts": lambda old: old - 1}, BAG),
    "more than its rows": ({"right_counts": lambda old: old + 9}, BAG),
    "no level sets": ({"right_counts": lambda old: old * 0}, BAG),
    "lower above upper": (
        {"wrong_counts": lambda old: [*old[:3], 6, 0, 0, *old[6:]]},
        BAG,
    ),
    **TAGS,
}
RULES_OF = THINGS["Venn-Abers rules"]
FORGED_VENN_ABERS = {
    "one class": ({"classes": ["no"]}, "its classes must not be"),
    "three classes": ({"classes": ["a", "b", "c"]}, "its rules are not one per"),
    "100,000 classes": (
        {"classes": list(range(100_000))},
        "its rules are not one per",
    ),
    "two models": ({"n_models": 2}, "its folds are not those of a cross"),
    "against the rest": ({"multiclass": "ovr"}, "its two classes are not one pair"),
    "another merge": ({"merge": "mean"}, "its merge must not be 'mean'"),
    "pooled": ({"merge": "pooled"}, LISTED),
    "another loss": ({"loss": None}, "its loss must not be None"),
    "no rules": ({"rules": plain_writer.names_as_bytes("[]")}, LISTED),
    "no list": ({"rules": plain_writer.names_as_bytes("{}")}, LISTED),
    "text": ({"rules": plain_writer.names_as_bytes('["a"]')}, "not described"),
    "spaces": ({"rules": plain_writer.names_as_bytes("[ null]")}, LISTED),
    "null with arrays": ({"rules": plain_writer.names_as_bytes("[null]")}, LISTED),
    "deep": ({"rules": plain_writer.names_as_bytes("[" * 10**5)}, LISTED),
    "falling thresholds": ({"rule_thresholds": lambda old: old[::-1].copy()}, VALID),
    "half rows": ({"rule_cell_counts": lambda old: old / 2}, LISTED),
    "a flag of 2": ({"lengths": lambda old: [*old[:-1], 2]}, LISTED),
    **TAGS,
}
NUMBERS = "its numbers are not those of"
FORGED_SIGMOIDS = {
    "a number too few": ({"numbers": [1.0]}, NUMBERS),
    "an infinite number": ({"numbers": [1.0, INF]}, NUMBERS),
    "another method": ({"method": "p"}, "its method must not be 'p'"),
    "a temperature": ({"method": "temperature"}, "its curve does not take|" + NUMBERS),
    "steps": ({"values": [1.0]}, "its curve has steps"),
    "probabilities": ({"reads": "probability"}, "its curve does not take such"),
    "no rows": ({"totals": lambda old: old * 0}, "its rows are not counted"),
    "a weight too few": ({"totals": lambda old: old[1:]}, "its rows are not counted"),
    "two models": ({"n_models": 2}, "its scores are not those of a table"),
    "rounded": ({"is_rounded": True}, "its scores are not those of a table"),
    **TAGS,
}
FORGED_STEPS = {
    "falling thresholds": ({"thresholds": lambda old: old[::-1].copy()}, "ascending"),
    "falling values": ({"values": lambda old: 1 - old}, "its steps are not ascending"),
    "values of 2": ({"values": lambda old: old + 1}, "its values are not prob"),
    "a length too few": ({"lengths": NO_ROWS}, "its lengths are not those"),
    "huge lengths": ({"lengths": lambda old: old * 0 + HUGE}, "its lengths are not"),
    "a number": ({"numbers": [1.0]}, "its steps have parameters"),
    "two names": ({"columns": ["a", "b", "c"]}, "its columns are not those"),
}

TABLES = {
    "Venn-Abers calibrator": (RULES_OF, FORGED_VENN_ABERS),
    "sigmoid": (THINGS["sigmoid"], FORGED_SIGMOIDS),
    "isotonic steps": (THINGS["isotonic steps"], FORGED_STEPS),
    "rule": (RULE, FORGED_RULES),
    "rule with its diagram": (WITH_DIAGRAM, FORGED_DIAGRAMS_OF_RULES),
    "cuts": (THINGS["rule of many rows"], FORGED_CUTS),
    "diagram": (DIAGRAM, FORGED_DIAGRAMS),
    "rule set": (abers.fit_rules(*GROUPED, minimum=1), FORGED_RULE_SETS),
    "rule set with its diagrams": (
        abers.fit_rules(*GROUPED, minimum=1, keep_diagram=True),
        FORGED_DIAGRAMS_OF_SETS,
    ),
    "rule set that shares a rule": (SHARED_RULE, FORGED_SHARED_RULES),
    "pooled rule": (POOLED_RULE, FORGED_POOLED_RULES),
    "poset rule": (POSET_RULE, FORGED_POSET_RULES),
    "regression rule": (REGRESSION, FORGED_REGRESSION_RULES),
    "stacked rule": (STACKED, FORGED_STACKED_RULES),
    "stacked margins": (STACKED_MARGINS, FORGED_STACKED_MARGINS),
    "stacked models": (STACKED_MODELS, FORGED_STACKED_MODELS),
    "stacked classes": (STACKED_CLASSES, FORGED_STACKED_CLASSES),
    "calibration set": (THINGS["calibration set"], FORGED_SETS),
    "calibration window": (THINGS["calibration set with a window"], FORGED_WINDOWS),
    "monitor": (THINGS["monitor"], FORGED_MONITORS),
    "protected": (PROTECTED, FORGED_PROTECTED),
    "top rule": (THINGS["top rule"], FORGED_TOP_RULES),
    "file monitor": (THINGS["file monitor"], FORGED_FILE_MONITORS),
    "file monitor that protects": (PROTECTING, FORGED_PROTECTING),
}


class Forgery(NamedTuple):
    """The contents of a forged thing, and what is said of them."""

    thing: object  # an honest one
    facts: dict
    arrays: dict
    says: str

    @property
    def state(self):
        return self.arrays | self.facts

    @property
    def file(self):
        record, _ = plain_writer.parts(self.thing)
        honest = {name: record[name] for name in ("format", "version")}
        return plain_writer.written(honest | self.facts, self.arrays)

    @property
    def message(self):
        """Return a message with a right checksum; None if it cannot say this."""
        facts = {name: fact for name, fact in self.facts.items() if name != "metadata"}
        if self.facts.get("metadata") != {}:  # it has no tags
            return None
        return message(type(self.thing).__name__, facts, self.arrays)


def message(kind, facts, arrays, *, shape=None, trailing=b""):
    """Write a message with a right checksum, whatever it holds."""
    described = [[n, each.dtype.str, shape or each.shape] for n, each in arrays.items()]
    header = json.dumps([kind, facts, described]).encode()
    body = struct.pack("<I", len(header)) + header
    body += b"".join(each.tobytes() for each in arrays.values()) + trailing
    return struct.pack("<I", zlib.crc32(body)) + body


def forged(thing, changes, says):
    facts, arrays = fitted_things.contents(thing)
    for name, value in changes.items():
        if name in arrays or isinstance(value, np.ndarray):
            arrays[name] = changed(arrays.get(name), value)
        else:
            facts[name] = value
    return Forgery(thing, facts, arrays, says)


def changed(old, value):
    if isinstance(value, str):
        return plain_writer.names_as_bytes(value)
    return np.array(value(old) if callable(value) else value)


FORGERIES = {
    f"{kind}: {name}": forged(thing, changes, says)
    for kind, (thing, table) in TABLES.items()
    for name, (changes, says) in table.items()
}
