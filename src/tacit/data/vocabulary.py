"""Vocabularies: ids, names, alternative names, broader concepts and descriptions of labels.

They are read from SKOS in any serialisation of RDF, from a table (TSV) or from JSON. Data files may refer to labels by
id or by name; a vocabulary knows both.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

from tacit.checks import has_half_character
from tacit.data.files import existing_file, plain_name, read_bytes, text_lines
from tacit.data.limits import FileLimits
from tacit.data.names import bare_uri
from tacit.errors import FileError, ParameterError, did_you_mean
from tacit.store.declared import Items

_MOST_SPELLINGS = 50_000  # among more the search for the nearest would take too long
_SEPARATOR = "|"  # between several names or parents in a cell of a table


@dataclass(eq=False)
class Vocabulary:
    """Concepts that labels stand for; all lists have one entry per concept.

    Attributes
    ----------
    ids : list of str
        Unique ids: numbers, notations or URIs.
    names : list of str
        Preferred names.
    alternatives : list of lists of str
        Other names.
    parents : list of lists of str
        Ids of the broader concepts that are in the vocabulary.
    descriptions : list of str
        Definitions or notes; empty if there are none.
    """

    ids: Annotated[list[str], Items("n_concepts")]
    names: Annotated[list[str], Items("n_concepts")]
    alternatives: Annotated[list[list[str]], Items("n_concepts")] = field(default_factory=list)
    parents: Annotated[list[list[str]], Items("n_concepts")] = field(default_factory=list)
    descriptions: Annotated[list[str], Items("n_concepts")] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.alternatives = self.alternatives or [[] for _ in self.ids]
        self.parents = self.parents or [[] for _ in self.ids]
        self.descriptions = self.descriptions or ["" for _ in self.ids]

    def __len__(self) -> int:
        return len(self.ids)

    def find(self, label: str) -> int:
        """Find the position of a concept by its id, name or alternative name; case does not matter."""
        place = self._places.get(label.casefold())
        if place is None:
            hint = did_you_mean(label, islice(self._spellings(), _MOST_SPELLINGS))
            raise ParameterError(f"the vocabulary has no '{label}'{hint}; give the id, the name or another name of it")
        return place

    def __contains__(self, label: object) -> bool:
        return isinstance(label, str) and label.casefold() in self._places

    def name_of(self, label: str) -> str:
        """The preferred name of a concept."""
        return self.names[self.find(label)]

    def names_of(self, label: str) -> list[str]:
        """The id, the preferred name and the alternative names of a concept."""
        place = self.find(label)
        return list(dict.fromkeys([self.ids[place], self.names[place], *self.alternatives[place]]))

    def parents_of(self, label: str) -> list[str]:
        """Ids of the direct parents."""
        return list(self.parents[self.find(label)])

    def children_of(self, label: str) -> list[str]:
        """Ids of the direct children."""
        return [self.ids[place] for place in self._children.get(self.ids[self.find(label)], ())]

    def text_of(self, label: str) -> str:
        """Names and description of a concept as a training text, without URIs."""
        place = self.find(label)
        names = [self.names[place], *self.alternatives[place]]
        return "\n".join(part for part in [*names, self.descriptions[place]] if part and "://" not in part)

    @cached_property
    def own_ids(self) -> frozenset[str]:
        """All ids."""
        return frozenset(self.ids)

    @cached_property
    def _places(self) -> dict[str, int]:
        """Positions by case-folded id, name and alternative name; on conflicts, ids and preferred names win."""
        found = {name.casefold(): place for place, names in enumerate(self.alternatives) for name in names}
        found.update({name.casefold(): place for place, name in reversed(list(enumerate(self.names)))})
        found.update({key.casefold(): place for place, key in enumerate(self.ids)})
        return found

    @cached_property
    def _children(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for place, above in enumerate(self.parents):
            for parent in above:
                found.setdefault(parent, []).append(place)
        return found

    def _spellings(self) -> Iterable[str]:
        yield from self.names
        yield from (name for names in self.alternatives for name in names)
        yield from self.ids


@dataclass(frozen=True)
class Concept:
    """One concept of a file; `line` is its line number, for messages."""

    id: str
    name: str
    alternatives: Sequence[str] = ()
    parents: Sequence[str] = ()
    description: str = ""
    line: int | None = None


def load_vocabulary(path: str | os.PathLike[str], language: str = "en", **limits: int | None) -> Vocabulary:
    """Read a vocabulary from a file, plain or gzip.

    Parameters
    ----------
    path : path
        SKOS (``.ttl``, ``.rdf``, ``.xml``, ``.owl``, ``.nt``, ``.n3``, ``.jsonld``, ``.trig``), a table
        (``.tsv``, ``.txt``) or ``.json``. A table either starts with a header that names its columns (``id``, ``name``,
        ``alternatives``, ``parents``, ``description``; several values in a cell are separated by ``|``), or has
        the id first and the name last. JSON is an object of concepts by id, or a list of them.
    language : str
        Which names to take from SKOS; names without a language are taken too.
    **limits
        As for `tacit.load_data`; a concept counts as a label.

    Raises
    ------
    FileError
        If the file is missing, damaged or holds no concept; names file and line.
    MissingExtraError
        If SKOS is to be read and rdflib is not installed.
    """
    allowed = FileLimits.of(**limits)
    path = existing_file(path)
    suffix = Path(plain_name(path)).suffix.lower()
    if suffix == ".json":
        return _checked(path, _read_json(path, allowed), allowed)
    if suffix in (".tsv", ".txt"):
        return _checked(path, _read_table(path, allowed), allowed)
    from tacit.data.skos import SYNTAXES, read_skos

    if suffix not in SYNTAXES:
        known = ", ".join([".tsv", ".txt", ".json", *SYNTAXES])
        raise FileError(path, f"the name of a vocabulary must end with one of {known}; rename or convert the file")
    return _checked(path, read_skos(path, SYNTAXES[suffix], language, allowed), allowed)


def _checked(path: Path, concepts: Iterable[Concept], limits: FileLimits) -> Vocabulary:
    vocabulary = Vocabulary([], [])
    seen: dict[str, int | None] = {}
    for concept in concepts:
        if not concept.id or not concept.name:
            raise FileError(path, f"a concept needs an id and a name; got {concept.id!r}, {concept.name!r}",
                            line=concept.line)  # fmt: skip
        if concept.id in seen:
            raise FileError(path, f"the concept '{concept.id}' stands there twice; keep one", line=concept.line)
        words = (concept.id, concept.name, *concept.alternatives, *concept.parents, concept.description)
        if any(map(has_half_character, words)):
            message = f"the concept '{concept.id}' has half a character (a lone surrogate)"
            raise FileError(path, f"{message}; mend its encoding", line=concept.line)
        seen[concept.id] = concept.line
        limits.check_columns(path, len(seen), "label", line=concept.line)
        vocabulary.ids.append(concept.id)
        vocabulary.names.append(concept.name)
        vocabulary.alternatives.append([name for name in dict.fromkeys(concept.alternatives) if name])
        vocabulary.parents.append(list(dict.fromkeys(concept.parents)))
        vocabulary.descriptions.append(concept.description)
    if not seen:
        raise FileError(path, "holds no concept; a vocabulary must name at least one")
    vocabulary.parents = [[parent for parent in above if parent in seen] for above in vocabulary.parents]
    return vocabulary


# -- tables -----------------------------------------------------------------------------------------------

#: What a column of a table or a member of a JSON object may be called, by what it holds.
_FIELDS: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "concept_id", "uri", "notation"),
    "name": ("name", "label", "preflabel", "pref_label", "title"),
    "alternatives": ("alternatives", "alt_labels", "altlabels", "altlabel", "alt_label", "synonyms"),
    "parents": ("parents", "broader", "parent"),
    "description": ("description", "definition", "scope_note", "scopenote", "note"),
}


def _field(names: Iterable[str], what: str) -> str | None:
    """Find the name of the field that holds `what`."""
    spelled = {name.strip().lower(): name for name in names}
    return next((spelled[name] for name in _FIELDS[what] if name in spelled), None)


def _read_table(path: Path, limits: FileLimits) -> Iterable[Concept]:
    lines = ((number, line.split("\t")) for number, line in text_lines(path, limits) if line.strip())
    first_number, first = next(lines, (1, [""]))
    has_header = _field(first, "id") is not None and _field(first, "name") is not None
    to_concept = _by_header(path, first) if has_header else _by_place(path, len(first))
    if not has_header:
        yield to_concept(first_number, first)
    for number, cells in lines:
        yield to_concept(number, cells)


def _by_place(path: Path, n_cells: int) -> Callable[[int, list[str]], Concept]:
    """Columns without header: id, alternative names (such as a URI), name; a single column is both id and name."""

    def concept(line: int, cells: list[str]) -> Concept:
        if len(cells) < n_cells:
            raise FileError(path, f"must have {n_cells} fields separated by tabs, as line 1; got {len(cells)}",
                            line=line)  # fmt: skip
        *others, name = [*cells[: n_cells - 1], " ".join(cells[n_cells - 1 :])]  # further tabs are blanks in the name
        plain = [bare_uri(cell.strip()) for cell in (*others, name)]
        return Concept(plain[0], plain[-1], plain[1:-1], line=line)

    return concept


def _by_header(path: Path, header: list[str]) -> Callable[[int, list[str]], Concept]:
    columns = {what: _field(header, what) for what in _FIELDS}

    def concept(line: int, cells: list[str]) -> Concept:
        if len(cells) > len(header):
            raise FileError(path, f"must have {len(header)} cells, as the header; got {len(cells)}", line=line)
        row = dict(zip(header, cells + [""] * (len(header) - len(cells)), strict=True))
        values = {what: row[name].strip() if name is not None else "" for what, name in columns.items()}
        return Concept(
            bare_uri(values["id"]),
            values["name"],
            [name.strip() for name in values["alternatives"].split(_SEPARATOR)],
            [bare_uri(parent.strip()) for parent in values["parents"].split(_SEPARATOR) if parent.strip()],
            values["description"],
            line,
        )

    return concept


# -- JSON -------------------------------------------------------------------------------------------------


def _read_json(path: Path, limits: FileLimits) -> Iterable[Concept]:
    try:
        content = json.loads(read_bytes(path, limits))
    except (ValueError, RecursionError) as error:
        raise FileError(path, f"must be JSON ({error}); correct it") from error
    if isinstance(content, dict):
        content = [{"id": key, **_member(path, key, value)} for key, value in content.items()]
    if not isinstance(content, list):
        raise FileError(path, f"must be an object of concepts by id, or a list of them; got {type(content).__name__}")
    return [_json_concept(path, place, entry) for place, entry in enumerate(content)]


def _member(path: Path, key: str, value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        return {"name": value}
    if not isinstance(value, dict):
        raise FileError(path, f"concept '{key}' must be an object or a name; got {type(value).__name__}")
    return {name: item for name, item in value.items() if name != "id"}


def _json_concept(path: Path, place: int, entry: Any) -> Concept:
    if not isinstance(entry, dict):
        raise FileError(path, f"concept {place} must be an object with id and name; got {type(entry).__name__}")
    values = {what: entry.get(_field(entry, what)) for what in _FIELDS}
    if values["name"] is None:
        raise FileError(path, f"concept {place} ({values['id']}) has no name; its fields are {', '.join(entry)}")
    lists = {what: _texts(path, place, values[what]) for what in ("alternatives", "parents")}
    identity, name, description = (" ".join(_texts(path, place, values[w])) for w in ("id", "name", "description"))
    return Concept(identity or name, name, lists["alternatives"], lists["parents"], description)


def _texts(path: Path, place: int, value: Any) -> list[str]:
    items = [] if value is None else value if isinstance(value, list) else [value]
    for item in items:
        if not isinstance(item, str | int) or isinstance(item, bool):
            raise FileError(path, f"concept {place}: names, parents and descriptions are text; got {item!r}")
    return [str(item) for item in items]
