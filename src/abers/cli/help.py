"""`abers help`: the output of `--help`, for all commands or for one."""

from __future__ import annotations

import click

from abers.cli.commands import abers, command


@command()
@click.argument("name", metavar="[COMMAND]", required=False, help="One to explain.")
@click.pass_context
def help(context: click.Context, name: str | None) -> None:  # noqa: A001 (its name)
    """Show the help of a command, or list all commands."""
    group = context.find_root()
    explained = None if name is None else abers.get_command(group, name)
    if explained is None:
        click.echo(group.get_help())
        return
    with click.Context(explained, info_name=name, parent=group) as inner:
        click.echo(explained.get_help(inner))
