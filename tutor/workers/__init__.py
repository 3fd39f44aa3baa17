"""What the stage server and the judge server share: frames on pipes, and one fork a run with limits."""
