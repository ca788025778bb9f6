import os

from create_issue import create_issue
from smolagents import OpenAIServerModel, ToolCallingAgent, tool

agent = ToolCallingAgent(tools=[tool(create_issue)], model=OpenAIServerModel("gpt-5"), max_steps=2)
print(agent.run(os.environ["PROMPT"]))
