"""What the arguments of commands have in common: the parser itself (`parsers`), durations and places in a log as people
write them, spelling suggestions, shell completion, and the reference page that is made from the parsers (`tree`).
"""
