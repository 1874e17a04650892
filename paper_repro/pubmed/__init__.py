"""PubMed's XML exports as a corpus: read, counted, saved, downloaded and learned from."""
