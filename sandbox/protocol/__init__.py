"""The protocol between the host and a job's process, shared by the local backends."""
