"""Fleet planner: a dashboard and a planning API for LLM inference fleets."""
