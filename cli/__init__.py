"""The command line: the thin top that turns a request into a run, a report and an exit code."""
