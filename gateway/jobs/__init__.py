"""Questions that are answered later: kept on disk, answered in the background, read when they are done."""
