"""Estimators: they behave as scikit-learn asks, learn, stop, and select features as they say."""
