"""``python -m reproduce``: the papers' tables, figures and theorems, each by a command."""

from __future__ import annotations

from reproduce.command import main

if __name__ == "__main__":
    main(prog_name="python -m reproduce")
