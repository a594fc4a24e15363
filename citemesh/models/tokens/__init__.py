"""Tokenizers, their digests, and token vectors as bytes."""
