"""Arabic words as they are looked up: one spelling, without vowel marks, article and commonest endings.

The light stemming of Larkey, Ballesteros and Connell ("Light Stemming for Arabic Information Retrieval", 2007,
"light10"), which takes off what is written together with a word and leaves its pattern alone. It raised nDCG@10 of the
lexical part on Arabic XQuAD from .891 to .936 (docs/quality.md). Persian and Urdu words pass through it as well: their
forms of the same letters are made one, and so are words that lose an ending alike on both sides.
"""

_LETTERS = {
    **dict.fromkeys(map(ord, "\u0622\u0623\u0625\u0671"), "\u0627"),  # alef with hamza, madda or wasla
    **dict.fromkeys(map(ord, "\u0649\u0626\u06cc\u06d2"), "\u064a"),  # yeh without dots, with hamza, Farsi, Urdu
    ord("\u0629"): "\u0647",  # teh marbuta: heh
    ord("\u0624"): "\u0648",  # waw with hamza
    ord("\u06a9"): "\u0643",  # Persian kaf
}
_ARTICLES = ("ال", "بال", "كال", "فال", "لل")
_ENDINGS = ("ها", "ان", "ات", "ون", "ين", "يه", "ه", "ي")
_AND = "و"
_LEAST = 2


def stem(word: str) -> str:
    """A word of Arabic script as it is looked up; at least two letters of it stay."""
    word = word.translate(_LETTERS)
    if word.startswith(_AND) and len(word) > _LEAST + 1:
        word = word[1:]
    for article in _ARTICLES:
        if word.startswith(article) and len(word) >= len(article) + _LEAST:
            word = word[len(article) :]
            break
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) >= len(ending) + _LEAST:
            word = word[: -len(ending)]
    return word
