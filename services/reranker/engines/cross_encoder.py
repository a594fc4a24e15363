"""Judges with a sequence classification model that reads query and passage together."""

import threading
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer
from transformers.utils import logging as transformers_logging

from citemesh.errors import DeadlineExceeded, PreconditionFailed
from citemesh.models.prepared import PreparedModel
from services.reranker.coverage import Coverage, CoverageIndex
from services.reranker.engine import Alive, Stored, Support
from services.reranker.support import best_of_each, preference
from services.reranker.surrogates import whole_characters
from services.reranker.windows import Floats, Windows, windows_of
from services.reranker.words import words_of

_BATCH_TOKENS = 2048
_TRIED = 2
"""Stretches of a passage that the model reads for a sentence: those that hold most of its words."""

_POSITIVE = ("entailment", "supports", "support", "supported", "relevant", "positive", "yes", "true", "label_1")
Pair = tuple[str, str]


class CrossEncoderEngine:
    """Any Hugging Face sequence classification model. One label: its sigmoid; more: the positive class's softmax.

    Args:
        prepare: makes sure that the model is on disk and says where; called once, by load.
        max_tokens: most tokens of a pair; the longer text is cut first.
        threads: of a forward pass; torch has one such number for the process.
        device: torch's name of where the model runs.
    """

    stored_form = None

    def __init__(
        self, prepare: Callable[[], PreparedModel], *, max_tokens: int = 512, threads: int = 1, device: str = "cpu"
    ) -> None:
        self._prepare = prepare
        self._max_tokens = max_tokens
        self._threads = threads
        self._device = device
        # transformers sets truncation on the shared tokenizer for every call, which threads may not do together.
        self._one_at_a_time = threading.Lock()

    @property
    def name(self) -> str:
        """The model's name."""
        return f"cross-encoder/{self._prepared.name}"

    def load(self) -> None:
        """Loads the model. Raises PreconditionFailed where it can't be read or has no positive label."""
        torch.set_num_threads(self._threads)
        self._prepared = self._prepare()
        directory = self._prepared.directory
        transformers_logging.disable_progress_bar()
        try:
            self._tokenizer = AutoTokenizer.from_pretrained(directory, local_files_only=True)
            dtype = torch.bfloat16 if torch.device(self._device).type == "cuda" else torch.float32
            network = AutoModelForSequenceClassification.from_pretrained(directory, local_files_only=True, dtype=dtype)
            self._network = network.eval().to(self._device)
        except (OSError, ValueError, KeyError) as fault:
            raise PreconditionFailed(
                "MODEL_MISSING",
                f"the cross-encoder at {directory} can't be loaded: {fault}",
                "set CITEMESH_RERANKER_MODEL to a sequence classification model",
            ) from fault
        self._positive = positive_label(self._network.config.id2label)

    def relevance(self, query: str, texts: Sequence[str], alive: Alive, stored: Stored = ()) -> list[float]:
        """Probability of each text's pair with the query, 0 to 1; equal texts are read once."""
        distinct = {text: n for n, text in enumerate(dict.fromkeys(texts))}
        scores = self._judge([(query, text) for text in distinct], alive)
        return [scores[distinct[text]] for text in texts]

    def support(
        self, sentences: Sequence[str], texts: Sequence[str], alive: Alive, stored: Stored = ()
    ) -> list[list[Support]]:
        """Probability that a stretch entails a sentence, for the stretches that hold most of its words.

        Numbers and names of the sentence that the whole passage lacks take most and half of the score.
        """
        windows = windows_of(texts)
        index = CoverageIndex(texts, windows)
        coverages = [index.coverage(words_of(sentence), _evenly) for sentence in sentences]
        tried = [_promising(windows, coverage) for coverage in coverages]
        pairs = [self._pair(s, texts, windows, w) for s, some in zip(sentences, tried, strict=True) for w in some]
        judged = iter(self._judge(pairs, alive))
        found = []
        for coverage, some in zip(coverages, tried, strict=True):
            scores, shared = np.zeros((2, len(windows.first)), np.float32)
            for window in some:
                lacking = (1 - 0.9 * coverage.numbers[window]) * (1 - 0.5 * coverage.names[window])
                scores[window] = next(judged) * lacking
                shared[window] = 1
            found.append(best_of_each(windows, scores, scores, shared))
        return found

    def _pair(self, sentence: str, texts: Sequence[str], windows: Windows, window: int) -> Pair:
        """Premise before hypothesis where classes are told apart; a relevance model wants the passage last."""
        start, end = windows.span(window)
        stretch = texts[windows.passage[window]][start:end]
        return (sentence, stretch) if self._network.config.num_labels == 1 else (stretch, sentence)

    def _judge(self, pairs: Sequence[Pair], alive: Alive, stored: Stored = ()) -> list[float]:
        scores = [0.0] * len(pairs)
        for batch in self._batches(pairs):
            if not alive():
                raise DeadlineExceeded("reading pairs")
            for number, score in zip(batch, self._forward([pairs[n] for n in batch]), strict=True):
                scores[number] = score
        return scores

    def _batches(self, pairs: Sequence[Pair]) -> Iterator[list[int]]:
        """Numbers of the pairs, those of similar length together, at most _BATCH_TOKENS (estimated) in a batch."""
        lengths = [min(self._max_tokens, len(a) + len(b)) for a, b in pairs]
        batch: list[int] = []
        for number in sorted(range(len(pairs)), key=lambda n: lengths[n], reverse=True):
            if batch and lengths[batch[0]] * (len(batch) + 1) > _BATCH_TOKENS:
                yield batch
                batch = []
            batch.append(number)
        if batch:
            yield batch

    def _forward(self, pairs: Sequence[Pair]) -> list[float]:
        firsts = [whole_characters(first) for first, _ in pairs]
        seconds = [whole_characters(second) for _, second in pairs]
        with self._one_at_a_time:
            inputs = self._tokenizer(
                firsts, seconds, padding=True, truncation=True, max_length=self._limit, return_tensors="pt"
            )
        with torch.inference_mode():
            logits = self._network(**inputs.to(self._device)).logits.float().cpu()
        if logits.shape[-1] == 1:
            return [float(p) for p in torch.sigmoid(logits[:, 0])]
        return [float(p) for p in torch.softmax(logits, dim=-1)[:, self._positive]]

    @property
    def _limit(self) -> int:
        return min(self._max_tokens, self._prepared.max_tokens)


def positive_label(labels: dict[int, str]) -> int:
    """Index of the class that says yes; 0 where there is one label only.

    Raises PreconditionFailed where no label's name says which it is.
    """
    if len(labels) == 1:
        return 0
    named = {name.casefold(): index for index, name in labels.items()}
    for name in _POSITIVE[: None if len(labels) == 2 else -1]:
        if name in named:
            return int(named[name])
    raise PreconditionFailed(
        "MODEL_UNSUITABLE",
        f"none of the model's labels ({', '.join(sorted(named))}) is known to mean yes",
        f"name one of them {_POSITIVE[0]} in id2label of config.json",
    )


def _evenly(words: Sequence[str]) -> Floats:
    return np.ones(len(words), np.float32)


def _promising(windows: Windows, coverage: Coverage) -> list[int]:
    """The few stretches of each passage that hold most of the sentence's words, of those that share any."""
    preferred = preference(windows, coverage)
    by_passage: dict[int, list[int]] = {}
    for window in np.flatnonzero(coverage.shared):
        by_passage.setdefault(int(windows.passage[window]), []).append(int(window))
    return [
        window for some in by_passage.values() for window in sorted(some, key=lambda w: -float(preferred[w]))[:_TRIED]
    ]
