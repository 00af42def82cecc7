"""Reading: the consumer and its fetcher for many partitions, and `fetch_ahead` for one range as fast as it comes."""
