"""Tasks of the evaluation harness (lm-eval): their requests, and what the answers score."""

import os

# tqdm reads this when it is imported. Progress is shown by whoever calls; the harness's own bars
# would write over it.
os.environ.setdefault("TQDM_DISABLE", "1")
