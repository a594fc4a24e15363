"""The events of an answer: streamed, written down, kept and given again."""
