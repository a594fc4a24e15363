"""What the benches of retrieval share: sets with judged queries, rooms to ask, metrics, a chart."""
