"""``python -m ludus``: the command line."""

from ludus.cli import main

main()
