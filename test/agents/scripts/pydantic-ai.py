import os

from create_issue import create_issue
from pydantic_ai import Agent

agent = Agent("openai-chat:gpt-5", tools=[create_issue])
print(agent.run_sync(os.environ["PROMPT"]).output)
