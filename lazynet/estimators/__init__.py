"""The scikit-learn estimators: classifiers and regressors, one file a family."""
