"""Benches: `python bench/<name>.py [--quick] [--json FILE]`; see docs/performance.md."""
