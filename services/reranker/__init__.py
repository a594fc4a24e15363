"""The reranker service: how well passages fit a question, and how well they support a sentence."""
