"""Storage: files of rules and diagrams, and atomic replacement of files."""
