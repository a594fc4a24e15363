"""Envoy's configuration as plain trees, and the Envoy binary."""
