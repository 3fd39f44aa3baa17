"""The TRUSTED side: it never imports learner code. It runs artifacts on its own inputs and compares with the oracle."""
