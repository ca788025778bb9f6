/** The tool of the scripts beside it. Returns the status and the whole answer, refusals included. */
export async function createIssue(title) {
  const response = await fetch('https://api.github.com/repos/acme/site/issues', {
    method: 'POST',
    headers: { authorization: `Bearer ${process.env.GITHUB_TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify({ title }),
  })
  return `${response.status} ${await response.text()}`
}
