"""`tidelog log`: the files of a log without a broker. `dump` shows, `verify` checks and `repair` changes them."""
