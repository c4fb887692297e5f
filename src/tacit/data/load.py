"""Any data file to a Dataset."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tacit.data.files import existing_file, holding_stdin
from tacit.data.formats import Source, detect_format, named_format
from tacit.data.limits import Limits
from tacit.errors import ParameterError

if TYPE_CHECKING:
    from tacit.data.dataset import Dataset


def load_data(
    path: str | os.PathLike[str],
    labels_path: str | os.PathLike[str] | None = None,
    format: str | None = None,  # noqa: A002
    text: str | Sequence[str] | None = None,
    labels: str | None = None,
    *,
    max_labels: int | None = None,
    max_features: int | None = None,
    max_line: int | None = None,
    max_expansion: int | None = None,
) -> Dataset:
    """Read samples and their labels from a file, plain or gzip.

    Parameters
    ----------
    path : path
        The file. Of formats that keep samples and labels in two files, either one.
    labels_path : path, optional
        For formats with two files the other one (Mulan XML, ``Y`` of a pair), where its name does not follow
        from `path`. For all others a file of label names, one per line or ``id<TAB>name`` as Annif's vocabularies:
        it fixes names and order of the columns, so that a test file gets the columns of its training file.
        Labels of a text file are then looked up in it, by id or name, and unknown ones are an error.
        Without it, labels of text files are the sorted names; for XMC and NPZ, ``labels.txt`` and
        ``features.txt`` beside the file are used if they have as many lines as there are columns.
    format : str, optional
        xmc, xmc-pair, svmlight, svmlight0, svmlight1, libsvm, arff, npz, jsonl, csv, tsv, fasttext or annif;
        found from the file's name and first line if not given.
    text : str or sequence of str, optional
        Of JSONL, CSV and TSV files: the field(s) with the text, as in ``"title,body"``; several are joined by
        line feeds. By default ``text``, else those of ``title``, ``body``, ``content``, ``document`` there are.
    labels : str, optional
        Likewise the field with the labels. By default the first of ``labels``, ``tags``, ``label``,
        ``concepts``, ``subjects``, ``keywords`` there is.
    max_labels, max_features, max_line, max_expansion : int, optional
        Limits on what a file may ask for, which honest data do not meet: the numbers of labels (ten million) and
        features (a hundred million), the bytes of a line (32 MiB) and the bytes that one byte of a packed file may
        become (500).

    Returns
    -------
    Dataset
        With `X` for numeric formats, with `texts` for the others.

    Raises
    ------
    FileError
        If a file is missing, damaged or not what it must be; names file and line.
    """
    path = existing_file(path)
    with holding_stdin(path):
        chosen = detect_format(path) if format is None else named_format(format)
        if not chosen.is_text and (text is not None or labels is not None):
            raise ParameterError(f"text= and labels= name fields of text files; {path.name} is read as {chosen.name}")
        limits = Limits.of(
            max_labels=max_labels, max_features=max_features, max_line=max_line, max_expansion=max_expansion
        )
        source = Source(
            path=path,
            labels_path=None if labels_path is None else existing_file(Path(labels_path)),
            text=field_names(text),
            labels=labels,
            limits=limits,
        )
        return chosen.read(source)


def field_names(fields: str | Sequence[str] | None) -> tuple[str, ...]:
    """``"title,body"`` or a sequence of names as a tuple of names."""
    if fields is None:
        return ()
    names = fields.split(",") if isinstance(fields, str) else fields
    return tuple(name.strip() for name in names if name.strip())
