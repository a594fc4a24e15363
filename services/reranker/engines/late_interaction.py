"""Judges by late interaction over the embedding model's token vectors, and by shared words for support."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import torch

from citemesh.errors import DeadlineExceeded
from citemesh.models.prepared import PreparedModel
from citemesh.models.tokens.token_vectors import StoredVectors, digest_of
from citemesh.text.word_sets import word_sets
from services.reranker.engine import Alive, PassageSupport, TextVectors, VectorForm
from services.reranker.support.calibration import LATE, features
from services.reranker.support.choice import best_first, best_of_each, preference
from services.reranker.support.coverage import Coverage, CoverageIndex
from services.reranker.support.stretches import Ints, Stretches, stretches_of
from services.reranker.token_vectors.cache import EncodedText, VectorCache, text_key
from services.reranker.token_vectors.encoder import TokenEncoder
from services.reranker.token_vectors.groups import groups
from services.reranker.token_vectors.maxsim import Floats, maxsim, nearest
from services.reranker.token_vectors.token_weights import token_weights

_GROUP_TOKENS = 32768
"""Passage tokens that are compared at once: 50 MB of vectors at 384 dimensions."""

PassageVectors = EncodedText | StoredVectors
Prepare = Callable[[], PreparedModel]
"""Makes sure that the model is on disk and says where; called once, by load."""


class LateInteractionEngine:
    """MaxSim weighted by information content.

    Passages whose token vectors came with them are not read at all; those that were judged before come from the cache.

    Args:
        max_tokens: most tokens in a sequence; the model's own limit holds too.
        cache_bytes: memory for token vectors of passages.
        threads: of a forward pass; torch has one such number for the process.
        layers: how many of the model's layers to use; 0 uses all.
        device: torch's name of where the model runs.
    """

    _model: PreparedModel
    _encoder: TokenEncoder
    _weights: Floats
    vector_form: VectorForm | None = None

    def __init__(
        self,
        prepare: Prepare,
        *,
        max_tokens: int = 512,
        cache_bytes: int = 256 << 20,
        threads: int = 1,
        layers: int = 0,
        device: str = "cpu",
    ) -> None:
        self._prepare = prepare
        self._max_tokens = max_tokens
        self._threads = threads
        self._layers = layers
        self._device = device
        self.cache = VectorCache(cache_bytes)

    @property
    def name(self) -> str:
        """The model's name."""
        return f"late-interaction/{self._model.name}"

    def load(self) -> None:
        """Loads the model and warms it up, so that the first caller doesn't pay for it."""
        torch.set_num_threads(self._threads)
        self._model = self._prepare()
        self._weights = token_weights(self._model.directory / "tokenizer.json")
        max_tokens = min(self._max_tokens, self._model.max_tokens)
        self._encoder = TokenEncoder(self._model.directory, max_tokens, self._layers, self._device)
        digest = digest_of(self._model, self._layers if self._encoder.cut else 0)
        self.vector_form = VectorForm(digest, self._encoder.dimensions)
        self.support(["warm"], ["warm up"], lambda: True)

    def relevance(self, query: str, texts: Sequence[str], alive: Alive, vectors: TextVectors = ()) -> list[float]:
        """Returns the weighted mean cosine of the query's tokens to their nearest in each text, -1 to 1."""
        if not texts:
            return []
        [encoded] = self._queries([query], alive)
        query_vectors, weights = encoded.vectors.astype(np.float32), self._weights[encoded.ids]
        passages = self._passages(texts, alive, vectors)
        scores: list[float] = []
        for part in groups([len(passage.places) for passage in passages], _GROUP_TOKENS):
            scores += map(float, maxsim(query_vectors, weights, [passage.vectors for passage in passages[part]]))
        return scores

    def support(
        self, sentences: Sequence[str], texts: Sequence[str], alive: Alive, vectors: TextVectors = ()
    ) -> list[list[PassageSupport]]:
        """Returns the calibrated blend of MaxSim and coverage of each sentence."""
        queries, passages = self._queries(sentences, alive), self._passages(texts, alive, vectors)
        supports: list[list[PassageSupport]] = [[] for _ in sentences]
        for part in groups([len(passage.places) for passage in passages], _GROUP_TOKENS):
            stretches = stretches_of(texts[part])
            evidence = self._evidence(sentences, queries, CoverageIndex(texts[part], stretches), passages[part], alive)
            for of_sentence, (coverage, similarity) in zip(supports, evidence, strict=True):
                scores = LATE.probability(features(coverage, similarity))
                best = best_of_each(stretches, preference(stretches, coverage, similarity), scores, coverage.shared)
                of_sentence += (replace(support, passage=support.passage + part.start) for support in best)
        return [sorted(of_sentence, key=best_first) for of_sentence in supports]

    def evidence(
        self, sentences: Sequence[str], text: str, alive: Alive, vectors: StoredVectors | None = None
    ) -> Iterator[tuple[Coverage, Floats]]:
        """Yields what each sentence's support by one passage is judged by; for calibrating it.

        It is the coverage by the passage's stretches, and the sentence's weighted mean cosine to them, [stretches].
        """
        index = CoverageIndex([text], stretches_of([text]))
        passages = self._passages([text], alive, [vectors])
        return self._evidence(sentences, self._queries(sentences, alive), index, passages, alive)

    def _evidence(
        self,
        sentences: Sequence[str],
        queries: Sequence[EncodedText],
        index: CoverageIndex,
        passages: Sequence[PassageVectors],
        alive: Alive,
    ) -> Iterator[tuple[Coverage, Floats]]:
        tokens, starts, ends = _segments(index.stretches, passages)
        for sentence, query in zip(sentences, queries, strict=True):
            if not alive():
                raise DeadlineExceeded("checking support")
            best = nearest(query.vectors.astype(np.float32), tokens, starts, ends)
            weights = self._weights[query.ids]
            similarity = weights @ index.stretches.widen(best) / max(float(weights.sum()), 1e-6)
            yield index.coverage(word_sets(sentence), self._weigh), similarity

    def _queries(self, texts: Sequence[str], alive: Alive) -> list[EncodedText]:
        """Returns vectors of queries or sentences; of one that fills more than one sequence, the beginning only."""
        encoded = dict(self._encoder.encode(texts, self._model.query_prefix, alive, first_only=True))
        return [encoded[number] for number in range(len(texts))]

    def _passages(self, texts: Sequence[str], alive: Alive, vectors: TextVectors) -> list[PassageVectors]:
        """Returns vectors of the texts: those that came with them, else encoded ones."""
        vectors = vectors or [None] * len(texts)
        missing = [text for text, of_text in zip(texts, vectors, strict=True) if of_text is None]
        encoded = iter(self._encoded(missing, alive))
        return [next(encoded) if of_text is None else of_text for of_text in vectors]

    def _encoded(self, texts: Sequence[str], alive: Alive) -> list[EncodedText]:
        """Returns the texts from the cache; encodes and caches what it lacks, equal texts once."""
        keys = [text_key(text) for text in texts]
        entries = {key: entry for key in set(keys) if (entry := self.cache.get(key))}
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in entries}
        order = list(missing)
        for number, entry in self._encoder.encode(list(missing.values()), self._model.passage_prefix, alive):
            entries[order[number]] = entry
            self.cache.put(order[number], entry)
        return [entries[key] for key in keys]

    def _weigh(self, words: Sequence[str]) -> Floats:
        """Returns the information content of each word in nats: the sum of its tokens'."""
        return np.array([self._weights[ids].sum() for ids in self._encoder.tokens(words)], np.float32)


def _segments(stretches: Stretches, passages: Sequence[PassageVectors]) -> tuple[Floats, Ints, Ints]:
    """Returns all passages' token vectors in a row, and where each sentence's tokens begin and end in it."""
    offsets = np.cumsum([0, *(len(passage.places) for passage in passages)])
    tokens = np.concatenate([p.vectors for p in passages]) if passages else np.zeros((0, 1), np.float16)
    bounds = [
        offsets[number] + np.searchsorted(passages[number].places, (start, end))
        for number, start, end in stretches.spans
    ]
    columns = np.array(bounds, dtype=np.int64).reshape(-1, 2)
    return tokens.astype(np.float32, copy=False), columns[:, 0], columns[:, 1]
