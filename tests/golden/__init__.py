"""The bits of small fits, stored, and compared after every change."""
