"""Copies of a store, their manifests, their proof and their restoring."""
