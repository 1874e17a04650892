"""The scikit-learn face: classifiers and regressors, one file a family."""
