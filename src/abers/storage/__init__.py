"""Storage: files of rules and diagrams, and how a file is replaced as a whole."""
