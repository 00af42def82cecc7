"""One file an API: what a request asks for, and what it is answered."""
