"""The bounds of the flow, as values; the gateway's settings fill them in."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one answer.

    Attributes:
        candidates: passages asked of the search.
        sources: most passages given to the model.
        context_tokens: most prompt tokens spent on passages.
        answer_tokens: tokens of an answer where the question doesn't say.
        extract_sentences: sentences of an extractive answer.
        reserve_s: time kept back of the caller's deadline to end an answer extractively.
        first_token_s: longest wait for the model's first token.
        stall_s: longest wait between two parts of the model's text.
        rank_s: longest wait for the order of the passages.
        cite_s: longest wait for one check of sentences.
        extract_s: longest wait for the order of sentences to quote.
        temperature: softness of the model's choice where the question doesn't say.
        repetition_penalty: how much a token that was written already is held back.
        scripts: scripts that the model writes well; questions in others are answered extractively. Empty: all.
        history_tokens: most tokens of what was said before a question, that it is made stand-alone with; estimated.
        hops: most searches one after another where the question doesn't say.
        hop_candidates: passages asked of each search after the first.
        cache_entries: most answers kept to be given again; 0 keeps none.
        cache_bytes: most bytes of them, about.
        cache_s: seconds that an answer is kept.
        constrain_markers: whether the model is held to markers that name a source.
        log_content: whether spans may carry the question's text.
    """

    candidates: int = 24
    sources: int = 3
    context_tokens: int = 1000
    answer_tokens: int = 192
    extract_sentences: int = 4
    reserve_s: float = 1.0
    first_token_s: float = 20.0
    stall_s: float = 10.0
    rank_s: float = 10.0
    cite_s: float = 2.0
    extract_s: float = 1.5
    temperature: float = 0.0
    repetition_penalty: float = 1.0
    scripts: tuple[str, ...] = ("latin",)
    history_tokens: int = 1000
    hops: int = 2
    hop_candidates: int = 12
    cache_entries: int = 256
    cache_bytes: int = 32 << 20
    cache_s: float = 3600.0
    constrain_markers: bool = False
    log_content: bool = False
