"""Messages of the retrieval API to this room's values and back, with every check of a field; a noun a file."""
