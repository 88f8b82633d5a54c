"""A release that chooses bins for another one."""
