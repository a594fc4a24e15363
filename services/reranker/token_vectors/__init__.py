"""Late interaction: token vectors of texts, how they are compared, and what each token weighs."""
