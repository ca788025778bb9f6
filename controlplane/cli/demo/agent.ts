/**
 * An ordinary agent: it knows the code host's real address, has a key of its own that is worth nothing, and has never
 * heard of a gateway. Everything else comes from its environment. Prints what it was answered as one line of JSON.
 */
const HOST = 'https://api.github.com/repos/acme/site'
const STEPS: Readonly<Record<string, readonly [method: string, path: string, body?: unknown]>> = {
  issue: ['POST', '/issues', { title: 'The footer shows last year' }],
  merge: ['PUT', '/pulls/7/merge', { commit_title: 'Fix the footer' }],
  branch: ['DELETE', '/git/refs/heads/main'],
}

const step = STEPS[process.argv[2] ?? '']
if (step === undefined) throw new Error(`steps: ${Object.keys(STEPS).join(', ')}`)
const [method, path, body] = step
const response = await fetch(HOST + path, {
  method,
  headers: { authorization: `Bearer ${process.env['GITHUB_TOKEN']}`, 'content-type': 'application/json' },
  ...(body === undefined ? {} : { body: JSON.stringify(body) }),
})
const text = await response.text()
process.stdout.write(
  `${JSON.stringify({ status: response.status, body: text === '' ? null : JSON.parse(text) })}\n`,
)
