"""Concepts of SKOS in any serialisation of RDF."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from tacit.data.concepts import Concept, languages_like
from tacit.data.limits import FileLimits
from tacit.data.rdf import statements
from tacit.errors import FileError

_SKOS = "http://www.w3.org/2004/02/skos/core#"
_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_DEPRECATED = "http://www.w3.org/2002/07/owl#deprecated"
_REPLACED = "http://purl.org/dc/terms/isReplacedBy"
_OTHER_NAMES = ("altLabel", "hiddenLabel")
_NOTES = ("definition", "scopeNote")  # the first that a concept has describes it

_USED = {_TYPE, _DEPRECATED, _REPLACED, "prefLabel", "notation", "broader", "narrower", *_OTHER_NAMES, *_NOTES}

_Texts = Mapping[tuple[str, str], dict[str, list[str]]]  # by property and subject: texts by language
_Links = Mapping[tuple[str, str], set[str]]  # by property and subject: resources


def read_skos(path: Path, language: str, limits: FileLimits) -> Iterator[Concept]:
    """Yield the concepts of an RDF file that have a name in a language, and those that are deprecated.

    Ids are notations if every concept has a unique one, otherwise URIs.
    """
    texts, links = _read(path, limits)
    replaced = {subject: others for (name, subject), others in links.items() if name == _REPLACED}
    marked = {subject for (name, subject), found in texts.items() if name == _DEPRECATED and _is_true(found)}
    successors = {subject: replaced.get(subject, set()) for subject in sorted(marked | replaced.keys())}
    concepts = {subject for (name, subject), types in links.items() if name == _TYPE and f"{_SKOS}Concept" in types}
    current = sorted(concepts - successors.keys())
    notations = {subject: _in_language(texts, "notation", subject, language) for subject in current}
    ids = {subject: found[0] for subject, found in notations.items() if len(found) == 1}
    if len(set(ids.values())) < len(notations):
        ids = {subject: subject for subject in notations}
    languages: set[str] = set()
    is_named = False
    for subject, own_notations in notations.items():
        names = _in_language(texts, "prefLabel", subject, language)
        translations = {tag: min(found) for tag, found in texts.get(("prefLabel", subject), {}).items() if tag}
        languages |= translations.keys()
        if not names:
            continue
        is_named = True
        others = [*names[1:], *(name for kind in _OTHER_NAMES for name in _in_language(texts, kind, subject, language))]
        notes = (_in_language(texts, kind, subject, language) for kind in _NOTES)
        yield Concept(
            ids[subject],
            names[0],
            others if ids[subject] == subject else [*others, subject],
            sorted(ids[parent] for parent in links.get(("broader", subject), ()) if parent in ids),
            " ".join(next(filter(None, notes), [])),
            next(iter(own_notations), ""),
            translations,
        )
    yield from _deprecated(texts, successors, ids, language)
    if languages and not is_named:
        message = f"no concept has a name in '{language}', but there are names in {', '.join(sorted(languages))}"
        raise FileError(path, f"{message}; choose one of these languages")


def _read(path: Path, limits: FileLimits) -> tuple[_Texts, _Links]:
    """The properties of the file that are used; names are those of SKOS, or URIs."""
    texts: dict[tuple[str, str], dict[str, list[str]]] = {}
    links: dict[tuple[str, str], set[str]] = defaultdict(set)
    for subject, predicate, value, language in statements(path, limits):
        name = predicate.removeprefix(_SKOS)
        if name not in _USED:
            continue
        if language is not None:
            texts.setdefault((name, subject), {}).setdefault(language.lower(), []).append(value)
        elif name == "narrower":
            links["broader", value].add(subject)
        else:
            links[name, subject].add(value)
    return texts, links


def _in_language(texts: _Texts, name: str, subject: str, language: str) -> list[str]:
    """Values of a property in the language, or else those without a language."""
    by_tag = texts.get((name, subject), {})
    tags = languages_like(language, by_tag) or [""]
    return list(dict.fromkeys(text for tag in tags for text in sorted(by_tag.get(tag, ()))))


def _is_true(found: Mapping[str, list[str]]) -> bool:
    return any(text.lower() in ("true", "1") for texts in found.values() for text in texts)


def _deprecated(
    texts: _Texts, successors: Mapping[str, set[str]], ids: Mapping[str, str], language: str
) -> Iterator[Concept]:
    """The deprecated concepts, each with the one current concept that it leads to, if there is one."""
    for subject in successors:
        last, seen = subject, {subject}
        while len(following := successors.get(last, set()) - seen) == 1:
            last = next(iter(following))
            seen.add(last)
        names = _in_language(texts, "prefLabel", subject, language)
        others = [*names[1:], *_in_language(texts, "notation", subject, language)]
        yield Concept(subject, next(iter(names), ""), others, successor=ids.get(last, ""))
