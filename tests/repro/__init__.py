"""Reproduction: studies, corpora and competitors measure what their pages say they measure."""
