"""What this broker does for transactions: verification, markers to send, markers to write, producer ids."""
