"""The acts on a tagger, replayed on the trained model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from tacit.errors import ActError, TacitError
from tacit.names.evidence import NameEvidence
from tacit.names.index import NameIndex
from tacit.store.acts import Act, Sample, in_force
from tacit.store.sample_rows import ActSamples, rows_of
from tacit.tagger.inputs import sample_features
from tacit.tagger.scores import Scores
from tacit.tagger.state import Ground, State

if TYPE_CHECKING:
    from tacit.tagger.tagger import Tagger


@dataclass(frozen=True, eq=False)
class Changes:
    """Acts in chronological order, and the labels to which they lead; `features` turns samples into a matrix."""

    base: Scores
    features: Callable[[Sequence[Sample]], sparse.csr_matrix]
    state: State
    acts: Sequence[Act] = ()
    samples: Mapping[str, ActSamples] = field(default_factory=dict)  # by act
    left_out: Mapping[str, TacitError] = field(default_factory=dict)  # why acts in force do not apply, by id
    applied: Sequence[str] = field(default_factory=list)  # ids of the acts in force

    @property
    def scores(self) -> Scores:
        """The scores of the trained model, and of names that labels got later."""
        return self.state.fused(self.base)

    def is_based_on(
        self, model: Any, calibration: Any, target: str, few_shot: Any, vocabulary: Any, encoder: Any = None
    ) -> bool:
        """Whether the acts were replayed on exactly these objects."""
        scores, ground = self.base, self.state.ground
        same = scores.model is model and scores.calibration is calibration and scores.target == target
        return same and scores.encoder is encoder and ground.few_shot is few_shot and ground.vocabulary is vocabulary

    def plus(self, acts: Sequence[Act], samples: Mapping[str, ActSamples] | None = None) -> Changes:
        """With further acts; those that do not apply are skipped."""
        known = {**self.samples, **(samples or {})}
        known.update(self._samples_of([act for act in acts if act.kind in ("add", "judge") and act.id not in known]))
        everything = [*self.acts, *acts]
        current = in_force(everything)
        applied = [act.id for act in current]
        if applied[: len(self.applied)] == self.applied:
            state, refused = self.state.after(current[len(self.applied) :], known, self.base)
            refused = {**self.left_out, **refused}
        else:
            state, refused = State(self.state.ground).after(current, known, self.base)
        return replace(self, state=state, acts=everything, samples=known, left_out=refused, applied=applied)

    def tried(self, acts: Sequence[Act]) -> tuple[Changes, dict[str, TacitError]]:
        """With those new acts that apply, in order; and for the others, by id, the reason why not."""
        known = {act.id: act for act in self.acts}
        undos = {act.content["of"]: act.id for act in self.acts if act.kind == "undo"}  # the last one of each act
        refused: dict[str, TacitError] = {}
        wanted: list[Act] = []
        for act in acts:
            if act.id in known:
                refused[act.id] = ActError(f"known already: {act}", "id")
            elif act.kind == "undo" and (reason := _not_to_undo(act.content["of"], known, undos)):
                refused[act.id] = reason
            else:
                wanted.append(act)
                known[act.id] = act
                if act.kind == "undo":
                    undos[act.content["of"]] = act.id
        later = self.plus(wanted)
        new = {act.id for act in wanted}
        misfits = {name: error for name, error in later.left_out.items() if name in new}
        if misfits:
            later = self.plus([act for act in wanted if act.id not in misfits])
        return later, refused | misfits

    def _samples_of(self, acts: Sequence[Act]) -> dict[str, ActSamples]:
        """The features of the samples of acts, computed together."""
        given = [samples_in(act) for act in acts]
        flat = [sample for each in given for sample in each]
        rows = iter(rows_of(self.features(flat))) if flat else iter(())
        parts = zip(acts, given, strict=True)
        return {act.id: ActSamples([next(rows) for _ in each], [0.0] * len(each)) for act, each in parts}


def without_acts(tagger: Tagger) -> Changes:
    """A fitted tagger as training left it."""
    model, vectorizer, names, few_shot = tagger._fitted_model(), tagger.vectorizer_, tagger.names_, tagger._few_shot
    classes, counts, later = model.classes_, model.label_counts_, None
    if names is not None:
        classes = np.concatenate([classes.astype(object), np.array(names.others, dtype=object)])
        counts = np.pad(counts, (0, len(names.others)))
    elif vectorizer is not None:
        later = NameEvidence.by_name_alone(NameIndex.of([], vectorizer.language, by_root=False), len(classes))
    evidence = names or later
    named = None if evidence is None else evidence.index
    ground = Ground(classes, counts, few_shot, tagger.vocabulary_, len(model.classes_), named, names is not None)
    scores = Scores(model, tagger.calibration_, tagger.target, names, tagger.encoding_, tagger.encoder, later)
    return Changes(
        scores, partial(sample_features, vectorizer=vectorizer, n_features=few_shot.n_features), State(ground)
    )


def _not_to_undo(of: str, acts: Mapping[str, Act], undos: Mapping[str, str]) -> ActError | None:
    """Why an act cannot be undone, if it cannot."""
    last, is_undone = of, False
    while last in undos:
        last, is_undone = undos[last], not is_undone
    if of in acts and not is_undone:
        return None
    reason = f"it was taken back already: {acts[of]}" if of in acts else "no act has this id"
    return ActError(f"there is nothing to take back: {reason}", "of")


def samples_in(act: Act) -> list[Sample]:
    """The samples of an act: judged ones, or examples and texts that describe a label."""
    given = [*act.content.get("judgements", ()), *(act.content.get("examples") or ())]
    samples = [each if isinstance(each, str) else each.get("text") or each.get("features") or "" for each in given]
    return samples + (texts_about(act.content) if act.kind == "add" else [])


def texts_about(content: Mapping[str, Any]) -> list[str]:
    """Texts that describe an added label: its name and the lines of its description, or its name alone."""
    name = [] if "://" in content["name"] else [content["name"]]
    if content.get("description"):
        return list(dict.fromkeys([*name, *filter(str.strip, content["description"].splitlines())]))
    return [] if content.get("examples") or content.get("cooccurs") else name
