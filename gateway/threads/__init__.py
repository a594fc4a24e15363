"""Conversations that are kept: each for the caller who began it, in one SQLite file."""
