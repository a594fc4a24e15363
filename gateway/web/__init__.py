"""The web as one more thing to search; off unless a search engine is named."""
