"""Calibration sets that change, and rules that follow them."""
