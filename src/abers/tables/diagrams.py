"""Diagrams in files: found among tables, and added up."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from abers.core.diagram import Diagram
from abers.core.fitted import RESERVED
from abers.errors import InvalidData
from abers.storage.fingerprint import TAG as FINGERPRINT_TAG, Fingerprint
from abers.tables.columns import MOST_NEGATIVES, NEG_LABELS_TAG
from abers.tables.files import FIRST_LOOK, is_ours, names_of, sources_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from abers.tables.files import Scratch, Source, StrPath


def saved_diagrams(
    files: StrPath | Sequence[StrPath], scratch: Scratch
) -> dict[str, Diagram]:
    """Return the diagrams in these files, by name; none if they are tables.

    What cannot be read twice, such as standard input, must be a table.
    """
    sources = [s for s in sources_of(names_of(files)) if not s.is_pipe]
    saved = [s for s in sources if is_ours(s.start(FIRST_LOOK))]
    if saved and len(saved) < len(sources):
        other = next(source for source in sources if source not in saved)
        msg = (
            f"{other.name} must be a diagram, as {saved[0].name} is; it is a table. "
            "Count it first, with abers diagram."
        )
        raise InvalidData(msg)
    diagrams = {source.name: _loaded(source, scratch) for source in saved}
    if len(diagrams) < len(saved):
        names = [source.name for source in saved]
        twice = next(name for name in names if names.count(name) > 1)
        msg = f"diagrams must be named once; got {twice} again."
        raise InvalidData(msg)
    return diagrams


def _loaded(source: Source, scratch: Scratch) -> Diagram:
    from abers.core.fitted import noun_of
    from abers.storage.files import load

    thing = load((source if source.is_local else source.on_disk(scratch)).path)
    if not isinstance(thing, Diagram):
        msg = f"{source.name} must be a table or a diagram; it is a {noun_of(thing)}."
        raise InvalidData(msg)
    return thing


def summed(diagrams: Mapping[str, Diagram]) -> tuple[Diagram, dict[str, Any]]:
    """Add up diagrams of the same columns; also return the tags that all have."""
    name, first = next(iter(diagrams.items()))
    for other, diagram in diagrams.items():
        _check_same_columns(name, first, other, diagram)
    all_tags = [diagram.metadata for diagram in diagrams.values()]
    tags: dict[str, Any] = {
        key: tag
        for key, tag in first.metadata.items()
        if all(own.get(key) == tag for own in all_tags)
    }
    if all(FINGERPRINT_TAG in own for own in all_tags):
        prints = (Fingerprint.from_text(own[FINGERPRINT_TAG]) for own in all_tags)
        tags[FINGERPRINT_TAG] = sum(prints, Fingerprint()).to_text()
    if all(NEG_LABELS_TAG in own for own in all_tags):
        labels = {
            label for own in all_tags for label in json.loads(own[NEG_LABELS_TAG])
        }
        if len(labels) <= MOST_NEGATIVES:
            tags[NEG_LABELS_TAG] = json.dumps(sorted(labels), ensure_ascii=False)
    return Diagram.sum(diagrams.values()), tags


def _check_same_columns(
    name: str, one: Diagram, other_name: str, other: Diagram
) -> None:
    """Raise if two diagrams count different columns or labels."""
    kept = {FINGERPRINT_TAG, NEG_LABELS_TAG}
    for tag in sorted(one.metadata.keys() | other.metadata.keys()):
        if not tag.startswith(RESERVED) or tag in kept:
            continue
        mine, theirs = one.metadata.get(tag), other.metadata.get(tag)
        if mine != theirs:
            what = tag.removeprefix(RESERVED).replace("-", " ")
            msg = (
                f"diagrams to add up must count the same columns; the {what} of "
                f"{other_name} is {theirs!r}, that of {name} {mine!r}. Count one of "
                "them again."
            )
            raise InvalidData(msg)
