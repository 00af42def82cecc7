"""What happens to a batch before it is written: validation, conversion, and preparation beside the loop."""
