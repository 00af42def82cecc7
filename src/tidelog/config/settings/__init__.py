"""The declarations themselves, one module a subject. Nothing here but constants: a module's docstring opens its
section in the reference, and the order of its constants is the order in which people read them. A setting that code
names is a constant; one that is known only is a row of a table (`tidelog.config.table`)."""
