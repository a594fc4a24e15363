"""The tokenizer of multilingual-e5-small: XLM-RoBERTa's Unigram vocabulary behind SentencePiece's nmt_nfkc rules.

nmt_nfkc is NFKC with three differences, kept here: control characters vanish, marks without width and line separators
become spaces, and the full-width tilde, common in Chinese and Japanese, stays itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers import Tokenizer, normalizers, processors

_VANISHING = "[\u0001-\u0008\u000b\u000e-\u001f\u007f\u008f\u009f]"
_SPACES = "[\u1680\u200b-\u200f\u2028\u2029\u2581\ufeff\ufffd]"
_TILDE = "\uff5e"
_STAND_IN = "\ufdd0"  # a noncharacter, which NFKC leaves alone


@dataclass(frozen=True)
class Vocabulary:
    """Pieces with their log-probabilities, by id, and the ids of the special ones."""

    pieces: list[str]
    scores: list[float]
    begin: int
    end: int
    padding: int
    unknown: int


def build_tokenizer(vocabulary: Vocabulary) -> Tokenizer:
    """Builds the fast tokenizer; it neither truncates nor pads."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    scored = list(zip(vocabulary.pieces, vocabulary.scores, strict=True))
    tokenizer = Tokenizer(models.Unigram(scored, unk_id=vocabulary.unknown))
    tokenizer.normalizer = _normalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="always")]
    )
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="always")
    tokenizer.post_processor = _frame(vocabulary)
    special = (vocabulary.begin, vocabulary.padding, vocabulary.end, vocabulary.unknown)
    tokenizer.add_special_tokens([AddedToken(vocabulary.pieces[token], normalized=False) for token in special])
    return tokenizer


def _normalizer() -> normalizers.Normalizer:
    from tokenizers import Regex, normalizers

    return normalizers.Sequence(
        [
            normalizers.Replace(Regex(_VANISHING), ""),
            normalizers.Replace(Regex(_SPACES), " "),
            normalizers.Replace(_TILDE, _STAND_IN),
            normalizers.NFKC(),
            normalizers.Replace(_STAND_IN, _TILDE),
        ]
    )


def _frame(vocabulary: Vocabulary) -> processors.PostProcessor:
    """Puts <s> … </s> around a text, and </s></s> between the two of a pair, as XLM-RoBERTa does."""
    from tokenizers import processors

    begin, end = vocabulary.pieces[vocabulary.begin], vocabulary.pieces[vocabulary.end]
    return processors.TemplateProcessing(
        single=f"{begin} $A {end}",
        pair=f"{begin} $A {end} {end} $B {end}",
        special_tokens=[(begin, vocabulary.begin), (end, vocabulary.end)],
    )
