"""From the bytes of documents to stored passages: read, cut, embedded, tokenized, committed."""
