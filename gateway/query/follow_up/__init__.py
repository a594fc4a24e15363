"""Proposes related questions."""
