"""How a model learns from what the swarm agrees on. `sync`: one optimizer step per agreed mean gradient."""
