"""What requests and answers look like; the OpenAPI description is made of this."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from tacit.server.limits import MAX_K


def _whole(text: str) -> str:
    """`text`, unless it holds half of a surrogate pair, which JSON can name and no file can hold."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"must be text; character {error.start} is half of a surrogate pair") from None
    return text


Text = Annotated[str, AfterValidator(_whole)]
LabelName = Annotated[str, Field(min_length=1, max_length=500)]
ModelName = Annotated[str | None, Field(None, description="Which model; the first one served by default.")]
ActId = Annotated[str, Field(min_length=1, max_length=100)]


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class SuggestRequest(_Request):
    """One text or several, and what is wanted of them."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [{"required": ["text"]}, {"required": ["texts"]}],
            "examples": [{"text": "Council regulation on the import of olive oil", "k": 3}],
        }
    )

    text: Text = Field("", description="The text; or give several as texts.")
    texts: list[Text] = Field([], min_length=1, description="Several texts.")
    model: ModelName
    k: int | None = Field(
        None, ge=1, le=MAX_K, description="Suggestions per text at most; 5 without a threshold, no limit with one."
    )
    threshold: Annotated[float, Field(ge=-1e9, le=1e9)] | str | None = Field(
        None,
        description="Leave out suggestions that are less probable: a number, 'auto', 'f1', 'precision=0.8', "
        "'recall=0.5' or 'labels=3'.",
    )
    include: list[LabelName] | None = Field(None, description="Suggest only these labels.")
    exclude: list[LabelName] | None = Field(None, description="Suggest none of these labels.")
    damp_head: float = Field(0.0, ge=0, le=1, description="Discount frequent labels, so that rare ones show.")

    @model_validator(mode="after")
    def _one_of_two(self) -> SuggestRequest:
        if len({"text", "texts"} & self.model_fields_set) != 1:
            raise ValueError("give either 'text' or 'texts'")
        return self

    def all_texts(self) -> list[str]:
        """The texts, however they were given."""
        return self.texts or [self.text]


class SuggestedLabel(BaseModel):
    """A label for a text."""

    label: str
    name: str = Field(description="What the vocabulary calls it, or the label itself.")
    score: float = Field(description="The probability that it is right, where the model is calibrated.")


class Result(BaseModel):
    """The labels of one text, best first."""

    suggestions: list[SuggestedLabel]


class SuggestAnswer(BaseModel):
    """A result for each text, in order."""

    model: str
    results: list[Result]


class ExplainRequest(_Request):
    """A text and the label to explain."""

    text: Text
    label: LabelName
    model: ModelName
    n: int = Field(8, ge=1, le=50, description="How many words, labels and samples to name at most.")


class WordReason(BaseModel):
    """A word, and by how much the score falls without it."""

    feature: str
    loss: float


class LabelReason(BaseModel):
    """Another label of the text, and the share of its samples that have the label, too."""

    label: str
    name: str
    score: float
    share: float


class SampleReason(BaseModel):
    """A training sample with the label."""

    text: str
    similarity: float


class ExplainAnswer(BaseModel):
    """What stands behind a label, strongest first."""

    model: str
    label: str
    name: str
    score: float
    features: list[WordReason]
    labels: list[LabelReason]
    samples: list[SampleReason]
    acts: list[str]


class Label(BaseModel):
    """A label that may be suggested."""

    label: str
    name: str
    count: int = Field(description="Training samples that have it.")
    added: bool = Field(description="Whether it came after training.")


class LabelsAnswer(BaseModel):
    """A page of the labels that were found."""

    model: str
    total: int
    labels: list[Label]


class NewLabel(_Request):
    """A label to add, and what is known of it; its name alone is enough if it says something."""

    name: LabelName
    model: ModelName
    examples: list[Text] | None = Field(
        None, min_length=1, description="Texts that have it; three are much better than one."
    )
    cooccurs: dict[LabelName, Annotated[float, Field(ge=0)]] | None = Field(
        None, description="Labels that it occurs with, and in how many samples."
    )
    description: Text | None = Field(None, description="A text about it.")
    parent: LabelName | None = Field(None, description="The label above it.")


class Judgement(_Request):
    """Whether a label is right for a text."""

    text: Text
    label: LabelName
    accepted: bool


class FeedbackRequest(_Request):
    """Suggestions that were judged."""

    judgements: list[Judgement] = Field(min_length=1)
    model: ModelName


class UndoRequest(_Request):
    """Which act to take back; the last one by default."""

    id: ActId | None = None
    model: ModelName


class RecordedAct(BaseModel):
    """Something that was taught, or taken back; it is on disk."""

    model: str
    id: str = Field(description="Tells the act from all others; /v1/undo takes it.")
    act: str


class ServedModel(BaseModel):
    """A model that is served."""

    name: str
    kind: str
    labels: int
    calibrated: bool
    threshold: float = Field(description="The score that the threshold 'auto' stands for.")
    acts: int = Field(description="Acts in force since the training.")
    max_batch: int
    loaded: str


class ModelsAnswer(BaseModel):
    """The models that are served; the first is the default."""

    version: str
    models: list[ServedModel]


class Health(BaseModel):
    """The service answers."""

    status: str


class ProblemDocument(BaseModel):
    """An error (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[dict[str, Any]] = Field([], description="The fields that are wrong, each with a message.")
    nearest: list[str] = Field([], description="Names spelt like the unknown one.")
