"""Vocabularies: ids, names, alternative names, broader concepts and descriptions of labels."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from tacit.core.checks import has_half_character
from tacit.data.concepts import Concept, languages_like, read_csv, read_json, read_skos, read_tsv
from tacit.data.files import existing_file, suffix
from tacit.data.limits import FileLimits
from tacit.data.rdf import SYNTAXES
from tacit.errors import FileError, ParameterError, did_you_mean
from tacit.store.declared import Items

_MOST_SPELLINGS = 50_000  # among more the search for the nearest would take too long


@dataclass(eq=False)
class Vocabulary:
    """Concepts that labels stand for; all lists have one entry per concept."""

    ids: Annotated[list[str], Items("n_concepts")]  # unique: numbers, notations or URIs
    names: Annotated[list[str], Items("n_concepts")]  # preferred ones
    alternatives: Annotated[list[list[str]], Items("n_concepts")] = field(default_factory=list)
    parents: Annotated[list[list[str]], Items("n_concepts")] = field(default_factory=list)  # ids of broader concepts
    descriptions: Annotated[list[str], Items("n_concepts")] = field(default_factory=list)
    notations: Annotated[list[str], Items("n_concepts")] = field(default_factory=list)  # of several the first
    translations: dict[str, list[str]] = field(default_factory=dict)  # preferred names by language; empty if missing
    deprecated: dict[str, str] = field(default_factory=dict)  # ids of successors by former ids and names; may be empty

    def __post_init__(self) -> None:
        n_concepts = len(self.ids)
        self.alternatives = self.alternatives or [[] for _ in self.ids]
        self.parents = self.parents or [[] for _ in self.ids]
        self.descriptions = self.descriptions or [""] * n_concepts
        self.notations = self.notations or [""] * n_concepts

    def __len__(self) -> int:
        return len(self.ids)

    def find(self, label: str) -> int:
        """The position of a concept by any of its names, or by one that it replaced; case does not matter."""
        position = self._positions.get(label.casefold())
        if position is None:
            spellings = filter(None, itertools.chain(self.names, *self.alternatives, self.ids, self.notations))
            hint = did_you_mean(label, itertools.islice(spellings, _MOST_SPELLINGS))
            raise ParameterError(f"the vocabulary has no '{label}'{hint}; give the id, the name or another name of it")
        return position

    def __contains__(self, label: object) -> bool:
        return isinstance(label, str) and label.casefold() in self._positions

    def name_of(self, label: str, language: str | None = None) -> str:
        """The preferred name of a concept, in another language if it has one there."""
        position = self.find(label)
        there = "" if language is None else self.translated(language)[position]
        return there or self.names[position]

    def names_of(self, label: str) -> list[str]:
        """The id, the preferred name, the alternative names and, if it has one, the notation of a concept."""
        position = self.find(label)
        names = [self.ids[position], self.names[position], *self.alternatives[position], self.notations[position]]
        return list(dict.fromkeys(filter(None, names)))

    def names_in_texts(self, label: str) -> list[str]:
        """The names that texts may have for a label, the preferred one last: those of its concept, or its own."""
        position = self._positions.get(label.casefold())
        if position is None or label not in (self.ids[position], self.names[position]):
            return [label]
        return [*self.alternatives[position], self.names[position]]

    def translated(self, language: str) -> list[str]:
        """Preferred names in a language, empty where there are none."""
        tags = languages_like(language, self.translations)
        if not tags:
            known = ", ".join(sorted(self.translations)) or "no language that is named"
            raise ParameterError(f"the vocabulary has no names in '{language}'; it has names in {known}")
        return self.translations[tags[0]]

    def parents_of(self, label: str) -> list[str]:
        """Ids of the direct parents."""
        return list(self.parents[self.find(label)])

    def text_of(self, label: str) -> str:
        """Names and description of a concept as a training text, without URIs."""
        position = self.find(label)
        parts = [self.names[position], *self.alternatives[position], self.descriptions[position]]
        return "\n".join(part for part in parts if part and "://" not in part)

    def extended_by(self, newer: Vocabulary) -> Vocabulary:
        """The vocabulary with the concepts of a newer version that it lacks."""
        new = [position for position, key in enumerate(newer.ids) if key not in self.own_ids]

        def joined(here: list[Any], there: list[Any]) -> list[Any]:
            return [*(here or [""] * len(self)), *(there[position] if there else "" for position in new)]

        tags = sorted(self.translations.keys() | newer.translations.keys())
        deprecated = {name: key for name, key in newer.deprecated.items() if name not in self}
        lists = ("ids", "names", "alternatives", "parents", "descriptions", "notations")
        return Vocabulary(
            **{name: joined(getattr(self, name), getattr(newer, name)) for name in lists},
            translations={tag: joined(*(each.translations.get(tag, []) for each in (self, newer))) for tag in tags},
            deprecated=self.deprecated | deprecated,
        )

    def problem(self, sizes: Mapping[str, int]) -> tuple[str, str] | None:
        """What a stored vocabulary must satisfy beyond its declarations; see `tacit.store.declared`."""
        for language, names in self.translations.items():
            if len(names) != sizes["n_concepts"]:
                return "translations", f"must have {sizes['n_concepts']} names in '{language}'; got {len(names)}"
        return None

    @cached_property
    def own_ids(self) -> frozenset[str]:
        """All ids."""
        return frozenset(self.ids)

    @cached_property
    def _positions(self) -> dict[str, int]:
        """Positions by case-folded id, name, notation and alternative name; on conflicts they win in this order."""
        position_of = {key: position for position, key in enumerate(self.ids)}
        found = {name.casefold(): position_of[key] for name, key in self.deprecated.items() if key in position_of}
        found.update({name.casefold(): position for position, names in enumerate(self.alternatives) for name in names})
        found.update({code.casefold(): position for position, code in enumerate(self.notations) if code})
        found.update({name.casefold(): position for position, name in reversed(list(enumerate(self.names)))})
        found.update({key.casefold(): position for key, position in position_of.items()})
        return found


def read_table(path: Path, limits: FileLimits) -> Vocabulary:
    """Read a table with tabs, whatever its name ends with."""
    return _checked(path, read_tsv(path, "en", limits), limits)


def load_vocabulary(path: str | os.PathLike[str], language: str = "en", **limits: int | None) -> Vocabulary:
    """Read a vocabulary from a file, plain or gzip.

    SKOS (``.ttl``, ``.rdf``, ``.xml``, ``.owl``, ``.nt``, ``.n3``, ``.jsonld``, ``.trig``) needs pyoxigraph. A table
    (``.csv``, ``.tsv``, ``.txt``) starts with a header that names its columns: ``id`` or ``uri``, ``name`` or
    ``label_en``, ``label_fi``, …, ``notation``, ``alternatives``, ``parents``, ``description``; several values in a
    cell are separated by ``|``. A TSV without a header has a URI, the name and perhaps the notation, like Annif's, or
    some other id first and the name last. JSON is an object of concepts by id, or a list of them.

    Names of SKOS, and of a table with a column for each language, are those in `language`, or without a language;
    concepts without one are left out. Limits are those of `tacit.load_data`; a concept counts as a label.
    """
    path, allowed = existing_file(path), FileLimits.of(**limits)
    kind = suffix(path)
    if kind in SYNTAXES:
        concepts: Iterable[Concept] = read_skos(path, language, allowed)
    elif kind == ".json":
        concepts = read_json(path, allowed)
    elif kind == ".csv":
        concepts = read_csv(path, language, allowed)
    elif kind in (".tsv", ".txt"):
        concepts = read_tsv(path, language, allowed)
    else:
        known = ", ".join([".tsv", ".txt", ".csv", ".json", *SYNTAXES])
        raise FileError(path, f"the name of a vocabulary must end with one of {known}; rename or convert the file")
    return _checked(path, concepts, allowed)


def _checked(path: Path, concepts: Iterable[Concept], limits: FileLimits) -> Vocabulary:
    found: dict[str, Concept] = {}
    deprecated: dict[str, str] = {}
    for concept in concepts:
        if concept.successor is not None:
            names = filter(None, (concept.id, concept.name, *concept.alternatives))
            deprecated |= dict.fromkeys(names, concept.successor)
            continue
        if not concept.id or not concept.name:
            message = f"a concept needs an id and a name; got {concept.id!r}, {concept.name!r}"
            raise FileError(path, message, line=concept.line)
        if concept.id in found:
            raise FileError(path, f"the concept '{concept.id}' stands there twice; keep one", line=concept.line)
        words = (concept.description, *concept.parents, *concept.translations.values())
        if any(map(has_half_character, (*_names(concept), *words))):
            message = f"the concept '{concept.id}' has half a character (a lone surrogate)"
            raise FileError(path, f"{message}; mend its encoding", line=concept.line)
        found[concept.id] = concept
        limits.check_columns(path, len(found), "label", line=concept.line)
    if not found:
        raise FileError(path, "holds no concept; a vocabulary must name at least one")
    kept = list(found.values())
    languages = sorted({tag for concept in kept for tag in concept.translations})
    limits.check_languages(path, len(languages))
    in_use = {name.casefold() for concept in kept for name in _names(concept)}
    return Vocabulary(
        ids=list(found),
        names=[concept.name for concept in kept],
        alternatives=[[name for name in dict.fromkeys(concept.alternatives) if name] for concept in kept],
        parents=[[key for key in dict.fromkeys(concept.parents) if key in found] for concept in kept],
        descriptions=[concept.description for concept in kept],
        notations=[concept.notation for concept in kept],
        translations={tag: [concept.translations.get(tag, "") for concept in kept] for tag in languages},
        deprecated={
            name: key if key in found else "" for name, key in deprecated.items() if name.casefold() not in in_use
        },
    )


def _names(concept: Concept) -> tuple[str, ...]:
    return (concept.id, concept.name, concept.notation, *concept.alternatives)
