"""Calibration sets that change: rules that follow, and alarms when the world moves."""
