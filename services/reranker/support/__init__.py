"""How much a passage supports a sentence: its stretches, the words that they share, and the calibrated score."""
