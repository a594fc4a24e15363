"""Checks which sources support what was written."""
