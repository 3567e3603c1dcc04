"""A subcommand of ``datamind``; imported only when it runs."""

from __future__ import annotations

from collections import Counter

import click


@click.command("letters")
@click.argument("text")
def command(text: str) -> None:
    """Count the letters of TEXT."""
    for letter, count in sorted(Counter(filter(str.isalpha, text.casefold())).items()):
        click.echo(f"{letter} {count}")
