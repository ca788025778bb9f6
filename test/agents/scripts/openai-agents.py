import os

from agents import Agent, Runner, function_tool
from create_issue import create_issue

agent = Agent(name="triage", tools=[function_tool(create_issue)])
print(Runner.run_sync(agent, os.environ["PROMPT"]).final_output)
