"""`tidelog topics`: one module for each group of actions."""
