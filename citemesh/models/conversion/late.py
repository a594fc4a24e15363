"""A projection of an embedding model's token vectors to 128 dimensions, for late interaction.

Late interaction (MaxSim) sums, over the tokens of a query, the best cosine with any token of a passage. Keeping the
token vectors of every passage at the model's full width is costly, so they are projected on the 128 directions that
hold most of their second moment: principal components without centring, because dot products must survive, not
variance about the mean. Computed once when a model is prepared, from `late_sample.txt`, and deterministic.

Measured on XQuAD, 150 questions over 100 paragraphs a language, MaxSim at 384 against 128 dimensions:

    model                    language  same first place  mean reciprocal rank, 384 and 128   top 10 shared
    multilingual-e5-small    English   .987              .987  .984                          .65
    multilingual-e5-small    Chinese   .993              .993  .989                          .70
    all-MiniLM-L6-v2         English   .980              .979  .976                          .80

Below the first place one paragraph answers and the rest are ties of irrelevant ones, so their order changes freely.
Directions fitted on held-out paragraphs of the same sets did no better (first place .98, shared .73), so a larger
sample is not worth its weight; without dividing by the length after projecting, the first place falls to .96.

    reduced = unit(unit(token_vectors) @ np.load(model.late_projection))     # unit: each row divided by its length
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from citemesh.models.conversion.quiet import quiet_transformers
from citemesh.models.prepared import LATE_PROJECTION, Facts
from citemesh.models.progress import Progress

DIMENSION = 128

Floats = NDArray[np.float32]


def write_projection(directory: Path, facts: Facts, progress: Progress) -> None:
    """Computes the projection of the model in `directory` and saves it there.

    The file is float32 [hidden, min(128, hidden)] with orthonormal columns. Needs torch and transformers.
    """
    vectors = token_vectors(directory, sample_texts(facts), facts.max_tokens, progress)
    np.save(directory / LATE_PROJECTION, projection_of(vectors))


def sample_texts(facts: Facts) -> list[str]:
    """Returns the sample's lines, each in both roles when the model tells queries and passages apart."""
    text = resources.files(__package__).joinpath("late_sample.txt").read_text(encoding="utf-8")
    prefixes = sorted({facts.query_prefix, facts.passage_prefix})
    return [prefix + line for prefix in prefixes for line in text.splitlines()]


def token_vectors(directory: Path, texts: list[str], max_tokens: int, progress: Progress) -> Floats:
    """Returns the unit vectors of all tokens of `texts`, float32 [tokens, hidden], one text at a time, on the CPU."""
    import torch
    from tokenizers import Tokenizer
    from transformers import AutoModel

    tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_tokens)
    with quiet_transformers():
        model: Any = AutoModel.from_pretrained(str(directory), dtype=torch.float32, local_files_only=True).eval()
    rows: list[Floats] = []
    with torch.inference_mode():
        for done, text in enumerate(texts):
            progress("computing the late-interaction projection", done / len(texts))
            ids = torch.tensor([tokenizer.encode(text).ids])
            rows.append(model(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state[0].numpy())
    return unit(np.concatenate(rows))


def projection_of(vectors: Floats) -> Floats:
    """Returns the leading principal directions of `vectors` [n, hidden], float32 [hidden, min(128, hidden)].

    The sign of a direction is free; its largest entry is made positive so that equal input gives equal output.
    """
    moment = vectors.astype(np.float64).T @ vectors.astype(np.float64)
    _, directions = np.linalg.eigh(moment)  # ascending eigenvalues
    leading = directions[:, ::-1][:, :DIMENSION]
    largest = np.abs(leading).argmax(axis=0)
    signs = np.sign(leading[largest, np.arange(leading.shape[1])])
    return np.asarray(leading * signs, dtype=np.float32)


def unit(vectors: Floats) -> Floats:
    """Divide each row by its length; a zero row stays zero."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-12), dtype=np.float32)
