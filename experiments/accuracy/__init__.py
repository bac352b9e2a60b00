"""The study of accuracy: ways to calibrate, on many data sets and classifiers."""
