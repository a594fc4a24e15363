"""The values that a retrieval engine takes and gives."""
