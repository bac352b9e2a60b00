"""The paper, run again: data, underlying algorithms, protocol, numbers."""
