"""Benchmarks: what a capability costs, beside a named peer, in one run."""
