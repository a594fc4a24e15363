"""Ingestion of much at once: a long stream, a large table, a large document."""
