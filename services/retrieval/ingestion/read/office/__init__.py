"""Documents in ZIP archives: DOCX and EPUB."""
