"""What abers gives for fixed data: bits, files, answers of commands, pages, names.

`make goldens` writes them to tests/golden/ anew. A change there is a commit of its own
that says why. Bits and files are kept as hashes, all else as text, so that a difference
can be read. `tests/test_goldens.py` compares.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.frozen import FrozenEstimator
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import abers

GOLDEN = Path(__file__).with_name("golden")
COMMAND = Path(sys.executable).with_name("abers")
ROWS = 4_000
MODULES = (
    *("comparison", "evaluation", "export", "losses", "online", "plots", "reference"),
    "rules",
)
LONG = 12  # items of a list, of which only the ends are kept
# What differs from run to run, or from version to version.
FLEETING = {"date", "versions", "abers_version", "seconds", "sha256", "version"}


def numbers(seed, size):
    """Random numbers by arithmetic that is exact, hence the same everywhere."""
    raw = np.random.PCG64(seed).random_raw(size)
    return (raw >> np.uint64(11)) * 2.0**-53


def table():
    """Scores that rank three regions differently well, and labels."""
    scores = np.round(numbers(1, ROWS), 3)
    labels = (numbers(2, ROWS) < 0.1 + 0.7 * scores * scores).astype(int)
    regions = np.array(["north", "south", "west"])[(numbers(3, ROWS) * 3).astype(int)]
    weights = 1 + (numbers(4, ROWS) * 5).astype(int)
    return {"score": scores, "label": labels, "region": regions, "weight": weights}


def features(n_classes):
    """Whole numbers: a tree's probabilities of them are the same bits everywhere."""
    X = np.stack([(numbers(10 + j, ROWS) * 12).astype(int) for j in range(4)], axis=1)
    noise = (numbers(20, ROWS) * 9).astype(int)
    level = (X[:, 0] + X[:, 1] + noise) / 31
    return X, np.minimum((level * n_classes).astype(int), n_classes - 1)


def hashed(*arrays):
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
    return digest.hexdigest()[:16]


def classifiers():
    """Yield names and unfitted classifiers, for two and for three classes."""
    tree = DecisionTreeClassifier(max_depth=5, random_state=0)
    for loss in ("log", "brier"):
        yield f"ivap {loss}", abers.IVAPClassifier(tree, loss=loss, random_state=0)
        for merge in ("minimax", "pooled"):
            for ensemble in (True, False):
                yield (
                    f"cvap {merge} {'ensemble' if ensemble else 'one model'} {loss}",
                    abers.CVAPClassifier(
                        tree, merge=merge, ensemble=ensemble, loss=loss, random_state=0
                    ),
                )


def estimator_bits():
    """Yield hashes of probabilities and bounds of estimators."""
    for n_classes in (2, 3):
        X, y = features(n_classes)
        train, new = slice(0, 3_000), slice(3_000, None)
        for name, model in classifiers():
            fitted = model.fit(X[train], y[train])
            bounds = fitted.predict_bounds(X[new])
            yield (
                f"{name}, {n_classes} classes",
                hashed(fitted.predict_proba(X[new]), bounds),
            )
        for multiclass in ("ovr", "ovo"):
            fitted = abers.CVAPClassifier(
                GaussianNB(), merge="minimax", multiclass=multiclass, random_state=0
            ).fit(X[train], y[train])
            probability = fitted.predict_proba(X[new])
            yield (
                f"cvap naive Bayes {multiclass}, {n_classes} classes",
                hashed(np.round(probability, 6)),
            )
    X, y = features(30)
    tree = DecisionTreeRegressor(max_depth=5, random_state=0)
    for kind in (abers.IVAPRegressor, abers.CVAPRegressor):
        fitted = kind(tree, low=0, high=29, random_state=0).fit(X[:3_000], y[:3_000])
        yield (
            f"{kind.__name__}",
            hashed(fitted.predict(X[3_000:]), fitted.predict_bounds(X[3_000:])),
        )
    rows = table()
    scores = rows["score"].reshape(-1, 1)
    for kind in (abers.IVAPCalibrator, abers.IsotonicCalibrator):
        fitted = kind().fit(scores, rows["label"])
        yield f"{kind.__name__}", hashed(fitted.predict_proba(scores))
    for kind in (
        abers.PlattCalibrator,
        abers.BetaCalibrator,
        abers.TemperatureCalibrator,
    ):
        fitted = kind().fit(np.clip(scores, 0.001, 0.999), rows["label"])
        probability = fitted.predict_proba(np.clip(scores, 0.001, 0.999))
        yield f"{kind.__name__}, 6 digits", hashed(np.round(probability, 6))
    model = DecisionTreeClassifier(max_depth=4, random_state=0)
    X, y = features(2)
    frozen = FrozenEstimator(model.fit(X[:1_000], y[:1_000]))
    fitted = abers.IVAPClassifier(frozen).fit(X[1_000:3_000], y[1_000:3_000])
    yield "ivap frozen", hashed(fitted.predict_bounds(X[3_000:]))


def things_to_save():
    """Yield names and all that has a file."""
    rows = table()
    scores, labels = rows["score"], rows["label"]
    folds = (numbers(5, ROWS) * 5).astype(int)
    real = numbers(6, ROWS) + 0.5
    yield "rule", abers.fit_rule(scores, labels)
    yield "decreasing rule", abers.fit_rule(-scores, labels, increasing=False)
    yield (
        "rule of whole weights",
        abers.fit_rule(scores, labels, sample_weight=rows["weight"]),
    )
    yield "rule of real weights", abers.fit_rule(scores, labels, sample_weight=real)
    yield "diagram", abers.rules.Diagram.from_rows(scores, labels)
    yield "rule set", abers.fit_rules(scores, labels, rows["region"])
    yield "pooled rule", abers.rules.fit_pooled_rule(scores, labels, folds)
    yield (
        "regression rule",
        abers.rules.fit_regression_rule(scores, scores + labels, low=0, high=2),
    )
    online = abers.OnlineVennAbers()
    online.add_many(scores, labels)
    yield "calibration set", online
    monitor = abers.Monitor(scores[:1_000], labels[:1_000])
    monitor.update(scores[1_000:], labels[1_000:])
    yield "monitor", monitor


def file_hashes():
    """Yield the hash of each kind of file, bytes and all."""
    with tempfile.TemporaryDirectory() as folder:
        for name, thing in things_to_save():
            path = Path(folder, "thing.abers")
            thing.save(path)
            yield name, hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def write_tables(folder):
    """Write the tables that commands are run on."""
    rows = pa.table(table())
    pq.write_table(rows.slice(0, 2_000), folder / "calibration.parquet")
    pq.write_table(rows.slice(2_000, 1_000), folder / "recent.parquet")
    pq.write_table(rows.slice(3_000, 1_000), folder / "later.parquet")
    lines = ["id,score", "007,0.25", "008,", "009,0.75"]
    (folder / "new.csv").write_text("\n".join(lines) + "\n")


COMMANDS = {
    "fit": "fit calibration.parquet -o rule.abers --method venn-abers --json",
    "fit stacked": "fit calibration.parquet -o stacked.abers --json",
    "diagram": "diagram calibration.parquet -o diagram.abers --json",
    "fit diagram": "fit diagram.abers -o counted.abers --json",
    "fit weights": "fit calibration.parquet -o w.abers --weight weight "
    "--method venn-abers --json",
    "fit groups": "fit calibration.parquet -o set.abers --by region --json",
    "fit holdout": "fit calibration.parquet -o h.abers --holdout 0.25 --json",
    "predict": "predict rule.abers new.csv -o out.csv --json",
    "predict rows": "predict rule.abers new.csv",
    "predict groups": "predict set.abers recent.parquet -o g.csv --by region --json",
    "predict prior": "predict rule.abers new.csv --prior 0.2",
    "decide": "decide rule.abers new.csv --cost-fp 1 --cost-fn 4 --refer 0.3",
    "evaluate": "evaluate rule.abers recent.parquet --json --sample 0",
    "evaluate groups": "evaluate rule.abers recent.parquet --by region --json "
    "--sample 0",
    "compare": "compare recent.parquet --json",
    "check": "check rule.abers recent.parquet --json",
    "check groups": "check rule.abers recent.parquet --by region --json",
    "inspect": "inspect rule.abers --json",
    "inspect set": "inspect set.abers --json",
    "inspect steps": "inspect rule.abers --steps",
    "export csv": "export rule.abers steps.csv",
    "export duckdb": "export rule.abers steps.sql --to duckdb",
    "monitor start": "monitor state.abers --start calibration.parquet --json",
    "monitor": "monitor state.abers recent.parquet --json",
}


def run(folder, arguments):
    """Run the command as a user would; return what it printed and its exit code."""
    done = subprocess.run(
        [COMMAND, *arguments.split()],
        check=False,
        cwd=folder,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    return done.returncode, done.stdout, done.stderr


def lasting(value):
    """Return a JSON value without what differs from run to run."""
    if isinstance(value, dict):
        return {k: lasting(v) for k, v in value.items() if k not in FLEETING}
    if isinstance(value, list) and len(value) > LONG:
        return {"length": len(value), "ends": lasting([value[0], value[-1]])}
    if isinstance(value, list):
        return [lasting(item) for item in value]
    if isinstance(value, float):
        return float(f"{value:.9g}")
    return value


def answers_of_commands():
    """Return what each command answers on fixed tables."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_tables(folder)
        answers = {}
        for title, arguments in COMMANDS.items():
            code, out, _ = run(folder, arguments)
            answer = lasting(json.loads(out)) if "--json" in arguments else out
            if isinstance(answer, str) and len(answer) > 2_000:
                answer = hashlib.sha256(answer.encode()).hexdigest()[:16]
            answers[title] = {"command": arguments, "exit": code, "answer": answer}
        for path in ("steps.csv", "steps.sql", "out.csv"):
            text = (folder / path).read_bytes()
            answers[path] = hashlib.sha256(text).hexdigest()[:16]
        return answers


def without_pictures(page):
    """Return a page without its drawings, styles, date and versions."""
    page = re.sub(r"<svg.*?</svg>", "<svg/>", page, flags=re.DOTALL)
    page = re.sub(r"<style.*?</style>", "<style/>", page, flags=re.DOTALL)
    page = re.sub(r'"data:[^"]*"', '"data:"', page)
    page = re.sub(r"\b\d+\.\d+\.\d+(\.dev\w*)?\b", "VERSION", page)
    page = re.sub(r"sha256-[A-Za-z0-9+/=]+", "sha256-", page)
    page = re.sub(r"\b[0-9a-f]{12,64}\b", "HASH", page)
    return "\n".join(line.rstrip() for line in page.splitlines() if line.strip())


def evaluations():
    """Yield names of pages, and what they show."""
    rows = table()
    scores, labels = rows["score"], rows["label"]
    half = slice(0, 2_000), slice(2_000, 3_000)
    rule = abers.fit_rule(scores[half[0]], labels[half[0]])
    yield "page-rule.html", abers.evaluate(rule, scores[half[1]], labels[half[1]])
    tree = DecisionTreeClassifier(max_depth=4, random_state=0)
    for n_classes, name in ((2, "page-cvap.html"), (3, "page-three-classes.html")):
        X, y = features(n_classes)
        model = abers.CVAPClassifier(tree, random_state=0).fit(X[:2_000], y[:2_000])
        yield name, abers.evaluate(model, X[2_000:3_000], y[2_000:3_000])


def signature(thing):
    try:
        return str(inspect.signature(thing))
    except (TypeError, ValueError):
        return ""


def described(name, thing):
    """Yield a line for a name, and one for each public member of a class."""
    if inspect.ismodule(thing):
        yield f"{name} (module)"
    elif inspect.isclass(thing):
        yield f"{name}{signature(thing)}"
        for member in dir(thing):
            owner = next((k for k in thing.__mro__ if member in vars(k)), thing)
            if member.startswith("_") or not owner.__module__.startswith("abers"):
                continue
            value = inspect.getattr_static(thing, member)
            value = getattr(value, "__func__", value)  # of a class or static method
            yield f"  .{member}{signature(value) if callable(value) else ''}"
    elif callable(thing):
        yield f"{name}{signature(thing)}"
    else:
        yield name


def surface():
    """Yield the public names with their signatures, and all options of commands."""
    for name in sorted(abers.__all__):
        yield from described(f"abers.{name}", getattr(abers, name))
    for module in MODULES:
        try:
            room = importlib.import_module(f"abers.{module}")
        except ModuleNotFoundError:
            continue
        for name in sorted(getattr(room, "__all__", [])):
            yield from described(f"abers.{module}.{name}", getattr(room, name))
    with tempfile.TemporaryDirectory() as folder:
        listed = run(folder, "--help")[1].partition("Commands:")[2]
        for name in re.findall(r"^  ([a-z]+)  ", listed, flags=re.MULTILINE):
            options = re.findall(
                r"^  (-[^ ].*?)(?:  |$)", run(folder, f"{name} --help")[1], re.MULTILINE
            )
            yield f"$ abers {name}: {'; '.join(sorted(options))}"


def as_json(value):
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


MADE = {
    "bits.json": lambda: as_json(dict(estimator_bits())),
    "files.json": lambda: as_json(dict(file_hashes())),
    "commands.json": lambda: as_json(answers_of_commands()),
    "surface.txt": lambda: "\n".join(surface()) + "\n",
}
PAGES = ("page-rule.html", "page-cvap.html", "page-three-classes.html")


def made_pages():
    """Return each page by its name, without its pictures."""
    os.environ["SOURCE_DATE_EPOCH"] = "0"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "page.html")
        pages = {}
        for name, evaluation in evaluations():
            evaluation.to_html(path)
            pages[name] = without_pictures(path.read_text("utf-8")) + "\n"
        return pages


if __name__ == "__main__":
    for name, make in MADE.items():
        (GOLDEN / name).write_text(make(), encoding="utf-8")
    for name, page in made_pages().items():
        (GOLDEN / name).write_text(page, encoding="utf-8")
