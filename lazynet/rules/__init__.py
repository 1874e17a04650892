"""The update rules: what each is asked for, one file a rule."""
