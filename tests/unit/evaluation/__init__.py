"""Evaluation: measures, certainty, and what is shown of a run."""
