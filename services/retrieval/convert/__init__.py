"""Messages of the retrieval API to this service's values and back, with every check of a field; a noun a file."""
