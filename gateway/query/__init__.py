"""Answering a question: plain Python over the ports of the other services, with no transport in it."""
