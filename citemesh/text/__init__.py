"""Text in any language: scripts, characters, sentences, words, stop words, stems and languages. Plain Python."""
