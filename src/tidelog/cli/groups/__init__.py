"""`tidelog groups`: one module an action; `progress` and `reset_plan` are the arithmetic behind them."""
