"""What people see: colours, tables, meters, histograms; and the same answers as JSON (`rows`, `plain`)."""
