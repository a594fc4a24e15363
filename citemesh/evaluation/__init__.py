"""Runs a set of questions through the mesh and says how good the answers are, with how much certainty."""
