"""Answers that are sent while they are made."""
