"""`tidelog produce`: records from lines of input, and where they were written."""
