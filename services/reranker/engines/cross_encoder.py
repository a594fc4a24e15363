"""Judges with a sequence classification model that reads query and passage together."""

from collections.abc import Callable, Sequence

import numpy as np

from citemesh.errors import CiteMeshError, DeadlineExceeded, PreconditionFailed
from citemesh.models.prepared import PreparedModel
from citemesh.text.word_sets import word_sets
from services.reranker.engine import Alive, PassageSupport, TextVectors
from services.reranker.engines.pairs import Pair, PairNetwork, PairTokenizer
from services.reranker.support.choice import best_of_each, preference
from services.reranker.support.coverage import Coverage, CoverageIndex
from services.reranker.support.stretches import Floats, Stretches, stretches_of

_MOST_READ = 2
"""Stretches of a passage that the model reads for a sentence: those that hold most of its words."""

_POSITIVE = ("entailment", "supports", "support", "supported", "relevant", "positive", "yes", "true", "label_1")
Load = Callable[[PreparedModel], PairNetwork]
"""Loads a prepared model into what runs it."""


class CrossEncoderEngine:
    """Any Hugging Face sequence classification model. One label: its sigmoid; more: the positive class's softmax.

    Args:
        prepare: makes sure that the model is on disk and says where; called once, by load.
        network: loads it; see torch_pairs and onnx_pairs.
        max_tokens: most tokens of a pair; the model's own limit holds too.
    """

    vector_form = None

    def __init__(self, prepare: Callable[[], PreparedModel], network: Load, *, max_tokens: int = 512) -> None:
        self._prepare = prepare
        self._load_network = network
        self._max_tokens = max_tokens

    @property
    def name(self) -> str:
        """The model's name."""
        return f"cross-encoder/{self._prepared.name}"

    def load(self) -> None:
        """Loads the model. Raises PreconditionFailed where it can't be read or has no positive label."""
        self._prepared = self._prepare()
        directory = self._prepared.directory
        try:
            self._tokenizer = PairTokenizer(directory, min(self._max_tokens, self._prepared.max_tokens))
            self._network = self._load_network(self._prepared)
        except (CiteMeshError, OSError, ValueError, KeyError) as fault:
            if isinstance(fault, CiteMeshError) and not isinstance(fault, PreconditionFailed):
                raise
            raise PreconditionFailed(
                "MODEL_MISSING",
                f"the cross-encoder at {directory} can't be loaded: {fault}",
                "set CITEMESH_RERANKER_MODEL to a sequence classification model",
            ) from fault
        self._positive = positive_label(self._network.labels)

    def relevance(self, query: str, texts: Sequence[str], alive: Alive, vectors: TextVectors = ()) -> list[float]:
        """Returns the probability of each text's pair with the query, 0 to 1; reads equal texts once."""
        distinct = {text: n for n, text in enumerate(dict.fromkeys(texts))}
        scores = self._judge([(query, text) for text in distinct], alive)
        return [scores[distinct[text]] for text in texts]

    def support(
        self, sentences: Sequence[str], texts: Sequence[str], alive: Alive, vectors: TextVectors = ()
    ) -> list[list[PassageSupport]]:
        """Returns the probability that a stretch entails a sentence, for the stretches that hold most of its words.

        Numbers and names of the sentence that the whole passage lacks take most and half of the score.
        """
        stretches = stretches_of(texts)
        index = CoverageIndex(texts, stretches)
        coverages = [index.coverage(word_sets(sentence), _evenly) for sentence in sentences]
        promising = [_promising(stretches, coverage) for coverage in coverages]
        pairs = [
            self._pair(sentence, texts, stretches, number)
            for sentence, numbers in zip(sentences, promising, strict=True)
            for number in numbers
        ]
        chances = iter(self._judge(pairs, alive))
        supports = []
        for coverage, numbers in zip(coverages, promising, strict=True):
            scores, shared = np.zeros((2, len(stretches.first)), np.float32)
            for number in numbers:
                lacking = (1 - 0.9 * coverage.numbers[number]) * (1 - 0.5 * coverage.names[number])
                scores[number] = next(chances) * lacking
                shared[number] = 1
            supports.append(best_of_each(stretches, scores, scores, shared))
        return supports

    def _pair(self, sentence: str, texts: Sequence[str], stretches: Stretches, number: int) -> Pair:
        """Puts the premise before the hypothesis for a model of classes; a relevance model wants the passage last."""
        start, end = stretches.span(number)
        stretch = texts[stretches.passage[number]][start:end]
        return (sentence, stretch) if len(self._network.labels) == 1 else (stretch, sentence)

    def _judge(self, pairs: Sequence[Pair], alive: Alive) -> list[float]:
        scores = [0.0] * len(pairs)
        for batch in self._tokenizer.batches(pairs, self._network.pad):
            if not alive():
                raise DeadlineExceeded("reading pairs")
            for number, score in zip(batch.numbers, self._chances(self._network.logits(batch)), strict=True):
                scores[number] = score
        return scores

    def _chances(self, logits: Floats) -> list[float]:
        """Returns the probability of each pair by its logits, [pairs, classes]. Raises PreconditionFailed for NaN."""
        if not np.isfinite(logits).all():
            raise PreconditionFailed(
                "MODEL_BROKEN", f"{self.name} gives scores that are no numbers", "fetch the model again, or set another"
            )
        if logits.shape[1] == 1:
            logits = np.concatenate([logits, np.zeros_like(logits)], axis=1)  # a sigmoid is a softmax against 0
        odds = np.exp(logits.astype(np.float64) - logits.max(axis=1, keepdims=True))
        return [float(chance) for chance in odds[:, self._positive] / odds.sum(axis=1)]


def positive_label(labels: dict[int, str]) -> int:
    """Returns the index of the class that says yes; 0 where there is one label only.

    Raises PreconditionFailed where no label's name says which it is.
    """
    if len(labels) == 1:
        return 0
    indexes = {name.casefold(): index for index, name in labels.items()}
    for name in _POSITIVE[: None if len(labels) == 2 else -1]:
        if name in indexes:
            return int(indexes[name])
    raise PreconditionFailed(
        "MODEL_UNSUITABLE",
        f"none of the model's labels ({', '.join(sorted(indexes))}) is known to mean yes",
        f"name one of them {_POSITIVE[0]} in id2label of config.json",
    )


def _evenly(words: Sequence[str]) -> Floats:
    return np.ones(len(words), np.float32)


def _promising(stretches: Stretches, coverage: Coverage) -> list[int]:
    """Returns the few stretches of each passage that hold most of the sentence's words, of those that share any."""
    preferred = preference(stretches, coverage)
    by_passage: dict[int, list[int]] = {}
    for number in map(int, np.flatnonzero(coverage.shared)):
        by_passage.setdefault(int(stretches.passage[number]), []).append(number)
    return [
        number
        for numbers in by_passage.values()
        for number in sorted(numbers, key=lambda number: -float(preferred[number]))[:_MOST_READ]
    ]
