import asyncio
import os

from create_issue import create_issue
from google.adk.agents import Agent
from google.adk.runners import InMemoryRunner

agent = Agent(name="triage", model="gemini-2.5-flash", tools=[create_issue])


async def main() -> None:
    runner = InMemoryRunner(agent=agent, app_name="triage")
    for event in await runner.run_debug(os.environ["PROMPT"], quiet=True):
        for part in (event.content.parts if event.content else None) or []:
            if part.text:
                print(part.text)


asyncio.run(main())
