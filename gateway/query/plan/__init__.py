"""Which search comes next: the stand-alone question and its hops."""
