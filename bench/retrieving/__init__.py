"""What the benches of retrieval share: sets with judged queries, services to ask, metrics, a chart."""
