"""Turns messages of the retrieval API into this service's values and back; checks every field."""
