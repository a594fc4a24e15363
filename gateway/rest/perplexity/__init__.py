"""The API of Perplexity's clients."""
