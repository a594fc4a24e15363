"""Tables, each row of which is a document: CSV, TSV and JSON Lines."""
