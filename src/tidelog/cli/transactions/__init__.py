"""`tidelog transactions`: who has one open, which hang, and ending them."""
