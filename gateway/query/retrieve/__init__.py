"""Searches and ranks passages."""
