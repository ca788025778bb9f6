"""The tool of the scripts beside it. Returns the status and the whole answer, refusals included."""
import json
import os
import urllib.error
import urllib.request


def create_issue(title: str) -> str:
    """Creates an issue.

    Args:
        title: The title of the issue.
    """
    request = urllib.request.Request(
        "https://api.github.com/repos/acme/site/issues",
        data=json.dumps({"title": title}).encode(),
        headers={
            "authorization": f"Bearer {os.environ['GITHUB_TOKEN']}",
            "content-type": "application/json",
        },
    )
    try:
        with urllib.request.urlopen(request) as response:
            return f"{response.status} {response.read().decode()}"
    except urllib.error.HTTPError as error:
        return f"{error.code} {error.read().decode()}"
