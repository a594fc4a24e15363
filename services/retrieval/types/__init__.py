"""Values that a retrieval engine takes and returns."""
