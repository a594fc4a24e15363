"""Puts passages into a prompt."""
