"""From a document's bytes to chunks: what type it is, its text and structure, where it is cut."""
