"""`tidelog consume`: which topics, from where, with or without a group, and records as lines of output."""
