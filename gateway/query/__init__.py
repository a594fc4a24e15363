"""Answering a question: plain Python over the ports of the other rooms, with no transport in it."""
