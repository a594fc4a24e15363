"""Words without their endings, so that two forms of a word meet.

Each is crude, as both sides of a comparison pass through it, and each is part of what was measured or stored with it:
the lexical index holds Arabic stems, the reranker's support scores are calibrated with `english_stem`. English words of
the lexical index are stemmed by SQLite (Porter).
"""

_ENGLISH_ENDINGS = ("ing", "ies", "ied", "es", "ed", "ly", "s", "e")
_LIGHT_ENDINGS = ("'s", "’s", "ies", "ing", "ed", "es", "s")
_LEAST_ENGLISH = 3
_ARABIC_LETTERS = {
    **dict.fromkeys(map(ord, "\u0622\u0623\u0625\u0671"), "\u0627"),  # alef with hamza, madda or wasla
    **dict.fromkeys(map(ord, "\u0649\u0626\u06cc\u06d2"), "\u064a"),  # yeh without dots, with hamza, Farsi, Urdu
    ord("\u0629"): "\u0647",  # teh marbuta: heh
    ord("\u0624"): "\u0648",  # waw with hamza
    ord("\u06a9"): "\u0643",  # Persian kaf
}
_ARABIC_ARTICLES = ("ال", "بال", "كال", "فال", "لل")
_ARABIC_ENDINGS = ("ها", "ان", "ات", "ون", "ين", "يه", "ه", "ي")
_ARABIC_AND = "و"
_LEAST_ARABIC = 2


def english_stem(word: str) -> str:
    """Returns a word in lower case without an English ending; three letters stay."""
    for ending in _ENGLISH_ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _LEAST_ENGLISH:
            return word[: -len(ending)]
    return word


def english_stem_light(word: str) -> str:
    """As `english_stem`, but keeps -ly and -e, takes a genitive off and writes -y for -ies."""
    for ending in _LIGHT_ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _LEAST_ENGLISH:
            return word[: -len(ending)] + ("y" if ending == "ies" else "")
    return word


def arabic_stem(word: str) -> str:
    """Returns a word of Arabic script in one spelling, without article and commonest endings; two letters stay.

    The light stemming of Larkey, Ballesteros and Connell ("Light Stemming for Arabic Information Retrieval", 2007,
    "light10"), which takes off what is written together with a word and leaves its pattern alone. It raised nDCG@10 of
    the lexical part on Arabic XQuAD from .891 to .936 (docs/quality.md). Persian and Urdu words pass through it as
    well: their forms of the same letters become one, and words that lose an ending lose it on both sides.
    """
    word = word.translate(_ARABIC_LETTERS)
    if word.startswith(_ARABIC_AND) and len(word) > _LEAST_ARABIC + 1:
        word = word[1:]
    for article in _ARABIC_ARTICLES:
        if word.startswith(article) and len(word) >= len(article) + _LEAST_ARABIC:
            word = word[len(article) :]
            break
    for ending in _ARABIC_ENDINGS:
        if word.endswith(ending) and len(word) >= len(ending) + _LEAST_ARABIC:
            word = word[: -len(ending)]
    return word
