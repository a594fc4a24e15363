"""What the benches of the reranker share: the evaluation data as cases, a small search, a small regression."""
