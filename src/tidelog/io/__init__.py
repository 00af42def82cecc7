"""The real world behind the ports: clock, chance, files, sockets, processes. Sibling of `sim`, and its equal."""
