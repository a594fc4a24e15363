"""How right citations are: labelled sentences and written answers, cited in three ways."""
