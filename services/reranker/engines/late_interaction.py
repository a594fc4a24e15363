"""Judges by late interaction over the embedding model's token vectors, and by shared words for support."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import torch

from citemesh.errors import DeadlineExceeded
from citemesh.models.prepared import PreparedModel
from citemesh.models.tokens.token_vectors import StoredVectors, digest_of
from citemesh.text.word_sets import word_sets
from services.reranker.cache import TokenVectors, VectorCache, text_key
from services.reranker.calibration import LATE, features
from services.reranker.coverage import Coverage, CoverageIndex
from services.reranker.encoder import TokenEncoder
from services.reranker.engine import Alive, Stored, StoredForm, Support
from services.reranker.groups import groups
from services.reranker.idf import token_weights
from services.reranker.maxsim import Floats, maxsim, nearest
from services.reranker.support import best_first, best_of_each, preference
from services.reranker.windows import Ints, Windows, windows_of

_GROUP_TOKENS = 32768
"""Passage tokens that are compared at once: 50 MB of vectors at 384 dimensions."""

PassageVectors = TokenVectors | StoredVectors
Prepare = Callable[[], PreparedModel]
"""Makes sure that the model is on disk and says where; called once, by load."""


class LateInteractionEngine:
    """MaxSim weighted by information content; passages that were judged before come from the cache.

    Passages whose token vectors came with them are not read at all.

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
    stored_form: StoredForm | None = None

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
        self.stored_form = StoredForm(digest, self._encoder.dimensions)
        self.support(["warm"], ["warm up"], lambda: True)

    def relevance(self, query: str, texts: Sequence[str], alive: Alive, stored: Stored = ()) -> list[float]:
        """Weighted mean cosine of the query's tokens to their nearest in each text, -1 to 1."""
        if not texts:
            return []
        [asked] = self._queries([query], alive)
        vectors, weights = asked.vectors.astype(np.float32), self._weights[asked.ids]
        passages = self._passages(texts, alive, stored)
        scores: list[float] = []
        for part in groups([len(passage.places) for passage in passages], _GROUP_TOKENS):
            scores += map(float, maxsim(vectors, weights, [passage.vectors for passage in passages[part]]))
        return scores

    def support(
        self, sentences: Sequence[str], texts: Sequence[str], alive: Alive, stored: Stored = ()
    ) -> list[list[Support]]:
        """Calibrated blend of MaxSim and coverage of each sentence."""
        asked, passages = self._queries(sentences, alive), self._passages(texts, alive, stored)
        found: list[list[Support]] = [[] for _ in sentences]
        for part in groups([len(passage.places) for passage in passages], _GROUP_TOKENS):
            windows = windows_of(texts[part])
            evidence = self._evidence(sentences, asked, CoverageIndex(texts[part], windows), passages[part], alive)
            for supports, (coverage, similarity) in zip(found, evidence, strict=True):
                scores = LATE.probability(features(coverage, similarity))
                best = best_of_each(windows, preference(windows, coverage, similarity), scores, coverage.shared)
                supports += (replace(one, passage=one.passage + part.start) for one in best)
        return [sorted(supports, key=best_first) for supports in found]

    def evidence(
        self, sentences: Sequence[str], text: str, alive: Alive, stored: StoredVectors | None = None
    ) -> Iterator[tuple[Coverage, Floats]]:
        """What a sentence's support by one passage is judged by, for each sentence; for calibrating it.

        Yields the coverage by the passage's stretches, and the sentence's weighted mean cosine to them, [stretches].
        """
        index = CoverageIndex([text], windows_of([text]))
        passages = self._passages([text], alive, [stored])
        return self._evidence(sentences, self._queries(sentences, alive), index, passages, alive)

    def _evidence(
        self,
        sentences: Sequence[str],
        asked: Sequence[TokenVectors],
        index: CoverageIndex,
        passages: Sequence[PassageVectors],
        alive: Alive,
    ) -> Iterator[tuple[Coverage, Floats]]:
        tokens, starts, ends = _segments(index.windows, passages)
        for sentence, query in zip(sentences, asked, strict=True):
            if not alive():
                raise DeadlineExceeded("checking support")
            best = nearest(query.vectors.astype(np.float32), tokens, starts, ends)
            weights = self._weights[query.ids]
            similarity = weights @ index.windows.widen(best) / max(float(weights.sum()), 1e-6)
            yield index.coverage(word_sets(sentence), self._weigh), similarity

    def _queries(self, texts: Sequence[str], alive: Alive) -> list[TokenVectors]:
        """Vectors of queries or sentences; of one that fills more than one sequence, the beginning only."""
        made = dict(self._encoder.encode(texts, self._model.query_prefix, alive, first_only=True))
        return [made[number] for number in range(len(texts))]

    def _passages(self, texts: Sequence[str], alive: Alive, stored: Stored) -> list[PassageVectors]:
        """Vectors of the texts: those that came with them, else made."""
        came = stored or [None] * len(texts)
        missing = [text for text, vectors in zip(texts, came, strict=True) if vectors is None]
        made = iter(self._made(missing, alive))
        return [next(made) if vectors is None else vectors for vectors in came]

    def _made(self, texts: Sequence[str], alive: Alive) -> list[TokenVectors]:
        """Vectors of the texts, those of the unknown ones made and kept; equal texts are made once."""
        keys = [text_key(text) for text in texts]
        known = {key: entry for key in set(keys) if (entry := self.cache.get(key))}
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        order = list(missing)
        for number, entry in self._encoder.encode(list(missing.values()), self._model.passage_prefix, alive):
            known[order[number]] = entry
            self.cache.put(order[number], entry)
        return [known[key] for key in keys]

    def _weigh(self, words: Sequence[str]) -> Floats:
        """Information content of each word in nats: the sum of its tokens'."""
        return np.array([self._weights[ids].sum() for ids in self._encoder.tokens(words)], np.float32)


def _segments(windows: Windows, passages: Sequence[PassageVectors]) -> tuple[Floats, Ints, Ints]:
    """All passages' token vectors in a row, and where each sentence's tokens begin and end in it."""
    offsets = np.cumsum([0, *(len(passage.places) for passage in passages)])
    tokens = np.concatenate([p.vectors for p in passages]) if passages else np.zeros((0, 1), np.float16)
    bounds = [
        (offsets[p] + np.searchsorted(passages[p].places, start), offsets[p] + np.searchsorted(passages[p].places, end))
        for p, start, end in windows.spans
    ]
    columns = np.array(bounds, dtype=np.int64).reshape(-1, 2)
    return tokens.astype(np.float32, copy=False), columns[:, 0], columns[:, 1]
