"""Studies of what abers does when new rows differ from the calibration rows."""
