"""An agent's life: the pure state machine, its policies, and the owner task that runs its effects."""
