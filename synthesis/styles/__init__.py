"""Releases in the styles of other packages: estimators of scikit-learn, synthesizers of SmartNoise."""
