"""The real world behind the ports: clock, chance, files; later the reactor. Sibling of `sim`, and its equal."""
