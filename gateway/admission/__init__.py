"""Who may work now, who waits, and who is refused at once."""
