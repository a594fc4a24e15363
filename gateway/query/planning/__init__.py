"""Planners: which search comes next, given what the ones before found."""
