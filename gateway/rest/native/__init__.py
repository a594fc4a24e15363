"""CiteMesh's own API."""
