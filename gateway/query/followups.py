"""Related questions from passages that ranked high and were not used: comes with threads, nothing is proposed yet."""
