import asyncio
import os

from fastmcp import Client


async def main() -> None:
    async with Client("https://mcp.tools.example/mcp") as client:
        print(await client.call_tool("create_issue", {"title": os.environ["CELL"]}))


asyncio.run(main())
