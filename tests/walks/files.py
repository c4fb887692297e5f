"""Files as the people of the walks have them: texts of a few topics, in which some tags were forgotten."""

from __future__ import annotations

import csv
import random
from pathlib import Path

TOPICS = {
    "billing": "invoice payment refund charge receipt tax",
    "login": "password account locked reset username token",
    "shipping": "parcel courier delay address warehouse tracking",
    "returns": "label box exchange damaged size swap",
    "website": "page button browser error loading cookie",
}
_COMMON = ["please", "hello", "today", "since", "order", "customer", "number", "help"]


def ticket(rng: random.Random, *, forgotten: float = 0.15) -> dict[str, str]:
    """A text about one to three topics, some of its tags left out."""
    topics = rng.sample(list(TOPICS), rng.choice([1, 1, 2, 3]))
    words = [word for topic in topics for word in rng.sample(TOPICS[topic].split(), 3)] + rng.sample(_COMMON, 3)
    rng.shuffle(words)
    kept = [topic for place, topic in enumerate(topics) if not place or rng.random() > forgotten]
    return {"subject": " ".join(words[:3]), "message": ", ".join(words[3:]), "topics": "|".join(sorted(kept))}


def write_table(path: Path, rows: list[dict[str, str]], delimiter: str = ",") -> Path:
    with path.open("w", newline="", encoding="utf-8-sig" if delimiter == ";" else "utf-8") as file:
        table = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
        table.writeheader()
        table.writerows(rows)
    return path


def read_table(path: Path, delimiter: str = ",") -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        return list(csv.DictReader(file, delimiter=delimiter))
