"""What connects AgentBox to frameworks that E2B's SDK does not reach. Each module needs the extra of its name."""
