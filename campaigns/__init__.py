"""What a person runs: the command line, campaigns, export and reports."""
