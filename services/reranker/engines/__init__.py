"""Engines of the reranker: late interaction, cross-encoder, and the fake that judges by shared words."""
