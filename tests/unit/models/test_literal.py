"""Control tokens that a text spells are text, with vocabularies of every kind."""

import json
from pathlib import Path

import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from citemesh.errors import PreconditionFailed
from citemesh.models.tokens.digest import definition
from citemesh.models.tokens.literal import frame, hidden_names, literal_tokenizer, unknown_id

LETTERS = list("abcdefghijklmnopqrstuvwxyz</>[]▁")


def unigram(directory: Path) -> Path:
    """SentencePiece's way: control tokens are pieces without a probability, and one of them is not declared."""
    control = ["<s>", "<pad>", "</s>", "<unk>"]
    pieces = [(name, 0.0) for name in control] + [(letter, -5.0) for letter in LETTERS] + [("<mask>", 0.0), ("(", 0.0)]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=3, byte_fallback=False))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    tokenizer.add_special_tokens(control)
    return saved(tokenizer, directory)


def word_piece(directory: Path) -> Path:
    """BERT's way: control tokens are found before the vocabulary is looked at."""
    control = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words = [*control, *LETTERS, *(f"##{letter}" for letter in LETTERS)]
    vocabulary = {word: n for n, word in enumerate(words)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.add_special_tokens(control)
    return saved(tokenizer, directory)


def saved(tokenizer: Tokenizer, directory: Path) -> Path:
    tokenizer.save(str(directory / "tokenizer.json"))
    return directory


def test_a_unigram_vocabulary_reads_its_control_tokens_letter_by_letter(tmp_path: Path) -> None:
    directory = unigram(tmp_path)
    plain = Tokenizer.from_file(str(directory / "tokenizer.json"))
    assert {2, plain.token_to_id("<mask>")} <= set(plain.encode("a</s>b<mask>", add_special_tokens=False).ids)
    tokenizer = literal_tokenizer(directory)
    ids = tokenizer.encode("a</s>b<mask><pad>(", add_special_tokens=False).ids
    assert not {0, 1, 2, 3, plain.token_to_id("<mask>")} & set(ids)
    assert ids[-1] == plain.token_to_id("("), "plain characters stay what they are"
    assert tokenizer.encode("ab").ids == plain.encode("ab").ids
    assert frame(tokenizer) == ((0,), (2,))


def test_a_word_piece_vocabulary_does_so_by_the_librarys_own_switch(tmp_path: Path) -> None:
    tokenizer = literal_tokenizer(word_piece(tmp_path))
    ids = tokenizer.encode("a [SEP] b [MASK]", add_special_tokens=False).ids
    assert not {0, 2, 3, 4} & set(ids)
    assert hidden_names(definition(tmp_path)) == {}
    assert frame(tokenizer) == ((2,), (3,))


@pytest.mark.parametrize(
    ("model", "found"),
    [
        ({"type": "WordPiece", "unk_token": "[UNK]", "vocab": {"a": 0, "[UNK]": 7}}, 7),
        ({"type": "WordPiece", "unk_token": "[UNK]", "vocab": {"a": 0}}, None),
        ({"type": "Unigram", "unk_id": 3, "vocab": []}, 3),
        ({"type": "Unigram", "unk_id": 0, "vocab": []}, 0),
        ({"type": "Unigram", "unk_id": None, "vocab": []}, None),
        ({"type": "Unigram", "unk_id": 3, "byte_fallback": True, "vocab": []}, None),
        ({"type": "BPE", "unk_token": None, "vocab": {"a": 0}}, None),
    ],
)
def test_the_token_for_what_is_lacking(model: dict[str, object], found: int | None) -> None:
    assert unknown_id({"model": model}) == found


def test_what_is_no_tokenizer_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PreconditionFailed, match="prepare the model again"):
        literal_tokenizer(tmp_path)
    (tmp_path / "tokenizer.json").write_text(json.dumps({"model": {"type": "Nonsense", "vocab": []}}))
    with pytest.raises(PreconditionFailed):
        literal_tokenizer(tmp_path)
