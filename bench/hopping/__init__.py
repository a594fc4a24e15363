"""Parts of the bench of searching on."""
