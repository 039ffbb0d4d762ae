"""What users bring, made into a task (`agent.core.domain.Task`) or refused in clear words."""
