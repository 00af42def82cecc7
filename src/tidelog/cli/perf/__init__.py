"""`tidelog perf`: the three measurements (`runs`), what they count while they run, and what they report."""
