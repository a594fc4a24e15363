"""Sentences: the same cuts as those who read an answer make, who must know where its markers belong."""

from citemesh.client.sentences import LONGEST, Sentence, Splitter, is_wide, split

__all__ = ["LONGEST", "Sentence", "Splitter", "is_wide", "split"]
