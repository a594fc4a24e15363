"""Cuts the text of a document into chunks."""
