"""Schemas of requests and responses; the OpenAPI description is generated from them."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from tacit.server.request_limits import MAX_ITEMS, MAX_K

_TARGET = r"^(auto|f1|(precision|recall)=(0\.[0-9]{0,9}[1-9]|1)|labels=[1-9][0-9]{0,9})$"
_LONGEST = 1_000_000_000  # characters of a text; with a limit, pydantic refuses halves of surrogate pairs


def _without_fraction(number: Any) -> Any:
    """An integer such as 15.0, which is one in JSON Schema."""
    return int(number) if isinstance(number, float) and number.is_integer() else number


Item = TypeVar("Item")
INTEGRAL = BeforeValidator(_without_fraction)
Items = Annotated[list[Item], Field(max_length=MAX_ITEMS, fail_fast=True)]  # of megabytes, one error is enough
Text = Annotated[str, Field(max_length=_LONGEST)]
LabelName = Annotated[str, Field(min_length=1, max_length=500)]
ModelName = Annotated[str | None, Field(None, description="Name of the model; by default the first one.")]
Target = Annotated[str, Field(max_length=100, json_schema_extra={"pattern": _TARGET})]


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _check_sizes(cls, content: Any) -> Any:
        """Raise for objects with very many fields: otherwise each may be an error of its own."""
        objects = [content, *content.values()] if isinstance(content, dict) else []
        if any(isinstance(each, dict) and len(each) > MAX_ITEMS for each in objects):
            raise ValueError(f"an object may have at most {MAX_ITEMS:,} fields")
        return content


class NoContent(_Request):
    """An empty object."""


class SuggestRequest(_Request):
    """One text or several, and options for the suggestions."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [{"required": ["text"]}, {"required": ["texts"]}],
            "examples": [{"text": "Council regulation on the import of olive oil", "k": 3}],
        }
    )

    text: Text = Field("", description="A single text; give either text or texts.")
    texts: Items[Text] = Field([], min_length=1, description="Several texts.")
    model: ModelName
    k: Annotated[int, Field(ge=1, le=MAX_K), INTEGRAL] | None = Field(
        None, description="Maximum suggestions per text; by default 5, or all above the threshold."
    )
    threshold: Annotated[float, Field(ge=-1e9, le=1e9)] | Target | None = Field(
        None,
        description="Lowest score to suggest: a number, 'auto' (the stored threshold), or a target such as 'f1', "
        "'precision=0.8', 'recall=0.5' or 'labels=3'.",
    )
    include: Items[LabelName] | None = Field(None, description="Suggest only these labels.")
    exclude: Items[LabelName] | None = Field(None, description="Suggest none of these labels.")
    damp_head: float = Field(0.0, ge=0, le=1, description="Rank frequent labels lower: 0 not at all, 1 most.")
    language: str | None = Field(
        None, max_length=40, description="Language of the labels' names, such as 'fi', if the vocabulary has it."
    )

    @model_validator(mode="after")
    def _one_of_two(self) -> SuggestRequest:
        if len({"text", "texts"} & self.model_fields_set) != 1:
            raise ValueError("give either 'text' or 'texts'")
        return self


class ExplainRequest(_Request):
    """A text and the label to explain."""

    text: Text
    label: LabelName
    model: ModelName
    n: Annotated[int, Field(ge=1, le=50), INTEGRAL] = Field(8, description="Maximum number of items of each kind.")


class NewLabel(_Request):
    """A label to add, and the evidence for it; a name alone is enough if its words are informative."""

    name: Annotated[str, Field(min_length=1, max_length=500, pattern=r"\S")]
    model: ModelName
    examples: Items[Text] | None = Field(None, min_length=1, description="Texts that have the label.")
    cooccurs: dict[LabelName, Annotated[float, Field(gt=0)]] | None = Field(
        None, description="Labels that it co-occurs with, each with the number of samples that have both."
    )
    description: Text | None = Field(None, description="A text that describes it.")
    parent: LabelName | None = Field(None, description="A broader label.")


class Judgement(_Request):
    """Whether a label is right for a text."""

    text: Text
    label: LabelName
    accepted: bool


class FeedbackRequest(_Request):
    """Suggestions that were judged."""

    judgements: Items[Judgement] = Field(min_length=1)
    model: ModelName


class UndoRequest(_Request):
    """The act to undo; by default the last one."""

    id: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    model: ModelName


# -- responses --------------------------------------------------------------------------------------------


class SuggestedLabel(BaseModel):
    """A label for a text."""

    label: str
    name: str = Field(description="Its name in the vocabulary, or else the label itself.")
    score: float = Field(description="The probability that it is right, where the model is calibrated.")


class Result(BaseModel):
    """The labels of one text, best first."""

    suggestions: list[SuggestedLabel]


class SuggestAnswer(BaseModel):
    """A result for each text, in order."""

    model: str
    results: list[Result]


class WordReason(BaseModel):
    """A word, and by how much the score falls without it."""

    feature: str
    words: list[str] = Field(description="The words of the text that it stands for, such as the forms of a stem.")
    loss: float


class LabelReason(BaseModel):
    """Another label suggested for the text, and the fraction of its training samples with the explained label."""

    label: str
    name: str
    score: float
    share: float


class SampleReason(BaseModel):
    """A training sample with the label, and the names of all its labels."""

    text: str
    similarity: float
    labels: list[str]


class ExplainAnswer(BaseModel):
    """The evidence for a label, strongest first."""

    label: str
    name: str
    score: float
    features: list[WordReason]
    labels: list[LabelReason]
    samples: list[SampleReason]
    acts: list[str]
    names: list[str] = Field(description="Names of the label that are in the text.")
    names_in_part: list[str] = Field(description="Names of which only some words are in the text.")


class Label(BaseModel):
    """A label that may be suggested."""

    label: str
    name: str
    matched: str = Field(description="The name, or another name, that has the search string.")
    count: int = Field(description="Number of training samples that have it.")
    added: bool = Field(description="Whether it was added after training.")


class LabelsAnswer(BaseModel):
    """One page of the matching labels."""

    model: str
    total: int
    labels: list[Label]


class RecordedAct(BaseModel):
    """An act that has been saved, or undone; its id is for /v1/undo."""

    model: str
    id: str
    act: str


class ActInForce(BaseModel):
    """A change since training; its id is for /v1/undo."""

    id: str
    time: str
    act: str


class ActsAnswer(BaseModel):
    """One page of the acts in force, the latest first."""

    model: str
    total: int
    acts: list[ActInForce]


class ServedModel(BaseModel):
    """A model that is served; what is not known of it is null."""

    name: str
    kind: str
    labels: int
    samples: int | None
    calibrated: bool
    calibration_error: float | None
    calibration_samples: int | None
    calibration_spread: float | None = Field(description="Standard error of a probability.")
    metrics: dict[str, float] = Field(description="Metrics on held-out samples; empty if none were held out.")
    example: str | None = Field(description="A training text if they are kept, or words that it knows.")
    report: bool = Field(description="Whether /v1/models/{name}/report has an evaluation report.")
    threshold: float = Field(description="The stored threshold, used for 'auto'.")
    acts: int = Field(description="Number of acts in force.")
    max_batch: int
    loaded: str


class ModelsAnswer(BaseModel):
    """The models that are served; the first is the default."""

    version: str
    models: list[ServedModel]


class Health(BaseModel):
    """The service is running."""

    status: str


class ProblemDocument(BaseModel):
    """An error (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[dict[str, Any]] = Field([], description="The invalid fields, each with a message.")
    nearest: list[str] = Field([], description="Known names that are spelt similarly.")
