"""The report as one HTML file: no script, nothing loaded, readable on paper and on a phone."""
