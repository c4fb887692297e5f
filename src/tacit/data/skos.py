"""Concepts of SKOS in any serialisation of RDF."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from tacit.data.concepts import Concept, languages_like
from tacit.data.label_names import bare_uri
from tacit.data.limits import FileLimits
from tacit.data.rdf import statements
from tacit.errors import FileError, ParameterError, did_you_mean

_SKOS = "http://www.w3.org/2004/02/skos/core#"
_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_DEPRECATED = "http://www.w3.org/2002/07/owl#deprecated"
_REPLACED = "http://purl.org/dc/terms/isReplacedBy"
_OTHER_NAMES = ("altLabel", "hiddenLabel")
_NOTES = ("definition", "scopeNote")  # the first that a concept has describes it


def read_skos(
    path: Path, language: str, limits: FileLimits, include: Sequence[str] = (), exclude: Sequence[str] = ()
) -> Iterator[Concept]:
    """Yield the concepts of an RDF file that have a name in a language, and those that are deprecated.

    Ids are notations if every concept has a unique one, otherwise URIs. `include` and `exclude` are as for
    `load_vocabulary`.
    """
    graph = _Skos(path, limits)
    subjects = _chosen(path, graph, include, exclude)
    notations = {subject: graph.texts(subject, "notation", language) for subject in subjects}
    ids = _ids(subjects, notations)
    languages: set[str] = set()
    is_named = False
    for subject in subjects:
        names = graph.texts(subject, "prefLabel", language)
        translations = graph.translations(subject)
        languages |= translations.keys()
        if not names:
            continue
        is_named = True
        others = [*names[1:], *(name for kind in _OTHER_NAMES for name in graph.texts(subject, kind, language))]
        notes = (graph.texts(subject, kind, language) for kind in _NOTES)
        yield Concept(
            ids[subject],
            names[0],
            others if ids[subject] == subject else [*others, subject],
            sorted(ids[parent] for parent in graph.linked(subject, "broader", "narrower") if parent in ids),
            " ".join(next(filter(None, notes), [])),
            next(iter(notations[subject]), ""),
            sorted(ids[other] for other in graph.linked(subject, "related", "related") if other in ids),
            translations,
        )
    yield from _deprecated(graph, ids, language)
    if languages and not is_named:
        message = f"no concept has a name in '{language}', but there are names in {', '.join(sorted(languages))}"
        raise FileError(path, f"{message}; choose one of these languages")


def _deprecated(graph: _Skos, ids: Mapping[str, str], language: str) -> Iterator[Concept]:
    """The deprecated concepts, each with the one current concept that it leads to, if there is one."""
    for subject in sorted(graph.successors):
        last, seen = subject, {subject}
        while len(following := graph.successors.get(last, set()) - seen) == 1:
            last = next(iter(following))
            seen.add(last)
        names = graph.texts(subject, "prefLabel", language)
        others = [*names[1:], *graph.texts(subject, "notation", language)]
        yield Concept(subject, next(iter(names), ""), others, successor=ids.get(last, ""))


class _Skos:
    """Questions to the statements of a file; names of properties are those of SKOS, or URIs."""

    def __init__(self, path: Path, limits: FileLimits) -> None:
        self._texts: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
        self._objects: dict[tuple[str, str], list[str]] = defaultdict(list)
        self._subjects: dict[tuple[str, str], list[str]] = defaultdict(list)
        for subject, predicate, value, language in statements(path, limits):
            name = predicate.removeprefix(_SKOS)
            if name == predicate and name not in (_TYPE, _DEPRECATED, _REPLACED):
                continue
            if language is not None:
                self._texts[name, subject].append((language.lower(), value))
            else:
                self._objects[name, subject].append(value)
                self._subjects[name, value].append(subject)
        self.successors: dict[str, set[str]] = {}  # what replaced each deprecated concept, if anything did
        for (name, subject), texts in self._texts.items():
            if name == _DEPRECATED and any(text.lower() in ("true", "1") for _, text in texts):
                self.successors[subject] = set()
        for (name, subject), others in self._objects.items():
            if name == _REPLACED:
                self.successors.setdefault(subject, set()).update(others)

    def concepts(self) -> set[str]:
        """All concepts that are not deprecated."""
        return set(self._subjects.get((_TYPE, f"{_SKOS}Concept"), ())) - self.successors.keys()

    def texts(self, subject: str, name: str, language: str) -> list[str]:
        """Values of a property in the language, or else those without a language."""
        by_tag = self._by_language(subject, name)
        tags = languages_like(language, by_tag) or [""]
        return list(dict.fromkeys(text for tag in tags for text in by_tag.get(tag, ())))

    def translations(self, subject: str) -> dict[str, str]:
        """The preferred name in each language."""
        return {tag: texts[0] for tag, texts in self._by_language(subject, "prefLabel").items() if tag}

    def _by_language(self, subject: str, name: str) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for language, text in sorted(self._texts.get((name, subject), ()), key=lambda pair: pair[1]):
            found.setdefault(language, []).append(text)
        return found

    def linked(self, subject: str, name: str, inverse: str) -> set[str]:
        """What a property, or the inverse property the other way round, links with a subject."""
        return {*self._objects.get((name, subject), ()), *self._subjects.get((inverse, subject), ())}

    def members(self, group: str) -> set[str]:
        """All that is of a type, in a scheme or in a collection; and the group itself, which may be a concept."""
        found = {group, *self._objects.get(("hasTopConcept", group), ())}
        for name in (_TYPE, "inScheme", "topConceptOf"):
            found.update(self._subjects.get((name, group), ()))
        waiting = [group]
        while waiting:  # collections may hold collections
            inner = set(self._objects.get(("member", waiting.pop()), ())) - found
            found |= inner
            waiting.extend(inner)
        return found

    def groups(self) -> Iterable[str]:
        """The types, schemes and collections of the file."""
        named = (value for name, value in self._subjects if name in (_TYPE, "inScheme"))
        collections = (subject for name, subject in self._objects if name == "member")
        return dict.fromkeys((*named, *collections))


def _chosen(path: Path, graph: _Skos, include: Sequence[str], exclude: Sequence[str]) -> list[str]:
    """The concepts that are to be read, sorted by their URIs."""
    known = graph.concepts()

    def members(uris: Sequence[str], what: str) -> set[str]:
        found: set[str] = set()
        for uri in map(bare_uri, uris):
            inside = graph.members(uri) & known
            if not inside:
                hint = did_you_mean(uri, graph.groups())
                message = f"{what} must name types, schemes, collections or concepts of {path.name}; got '{uri}'"
                raise ParameterError(f"{message}{hint}, which has no concept there")
            found |= inside
        return found

    wanted = members(include, "include") if include else known
    return sorted(wanted - members(exclude, "exclude"))


def _ids(subjects: list[str], notations: dict[str, list[str]]) -> dict[str, str]:
    found = {subject: notations[subject][0] for subject in subjects if len(notations[subject]) == 1}
    if len(found) == len(subjects) == len(set(found.values())):
        return found
    return {subject: subject for subject in subjects}
