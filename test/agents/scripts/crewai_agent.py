import os

from create_issue import create_issue
from crewai import Agent, Crew, Task
from crewai.tools import tool

agent = Agent(
    role="triage",
    goal="Create issues",
    backstory="A bot",
    llm="openai/gpt-4o",
    tools=[tool("create_issue")(create_issue)],
)
task = Task(description=os.environ["PROMPT"], expected_output="A sentence", agent=agent)
print(Crew(agents=[agent], tasks=[task]).kickoff())
