"""Who is asked, and how: agents, their prompts, and `ask`."""
