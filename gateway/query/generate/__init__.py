"""Writes the answer, by the model or from the sources' own sentences."""
