"""`abers diagram`: count a table once, so that later fits need not read it again."""

from __future__ import annotations

import sys
from typing import Any

from abers.cli import options, printer
from abers.cli.commands import command
from abers.cli.options import STDOUT
from abers.errors import InvalidParameter
from abers.storage.files import encoded, save


@command()
@options.files
@options.output("Diagram file to write, or -.", required=True)
@options.score
@options.label
@options.pos_label
@options.weight
@options.counts
@options.drop_missing
@options.dialect
@options.tags("Tag to store in the diagram")
@options.memory
@options.temp
@options.force
@options.json
def diagram(
    files: tuple[str, ...],
    *,
    output: str,
    tags: dict[str, str],
    temp: str | None,
    force: bool,
    json: bool,
    **settings: Any,
) -> None:
    """Count tables to a diagram, or add diagrams up.

    A diagram holds the number of negatives and of positives at each distinct score: all
    that abers fit needs, without the rows. Count each day once; fit each night to the
    diagrams of the last weeks, abers fit days/*.abers -o rule.abers.
    """
    from abers.storage.container import sha256_of
    from abers.tables.fit import count_table
    from abers.tables.writing import check_output

    if json and output == STDOUT:
        msg = "--json must not go with -o -; both write to standard output."
        raise InvalidParameter(msg)
    check_output(output, force=force, inputs=files)
    with printer.progress("reading") as progress:
        counted = count_table(
            files,
            metadata=tags,
            temp=temp or options.folder_of(output),
            progress=progress,
            **settings,
        )
    made = counted.diagram
    if output == STDOUT:
        sys.stdout.buffer.writelines(encoded(made, counted.metadata))
        sys.stdout.buffer.flush()
    else:
        save(made, output, counted.metadata, force=force)
    facts: dict[str, Any] = {
        "n_rows": counted.n_rows,
        "n_missing": counted.n_missing,
        "total_weight": made.n_rows,
        "n_positives": made.n_positives,
        "n_distinct_scores": made.scores.size,
    }
    if json:
        facts |= {"notes": list(counted.notes)}
        printer.print_json({"output": output, "sha256": sha256_of(output)} | facts)
        return
    where = "written to standard output" if output == STDOUT else f"saved as {output}"
    printer.note(f"A diagram was counted and {where}.")
    share = 100 * made.n_positives / made.n_rows
    lines = [
        ("rows", printer.number(made.n_rows)),
        ("positive", f"{printer.number(made.n_positives)} ({share:.3g} %)"),
        ("distinct scores", f"{made.scores.size:,}"),
    ]
    if counted.n_missing:
        lines.append(("dropped", printer.dropped(counted.n_missing)))
    printer.facts(lines)
    for text in counted.notes:
        printer.note(text)
