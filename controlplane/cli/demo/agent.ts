import { Octokit } from '@octokit/rest'

/**
 * An ordinary agent on the code host's own SDK: it has a key that is worth nothing and has never heard of a gateway.
 * Everything else comes from its environment. Prints what it was answered as one line of JSON.
 */
const github = new Octokit({ auth: process.env['GITHUB_TOKEN'], log: silent() })
const site = { owner: 'acme', repo: 'site' }
const STEPS: Readonly<Record<string, () => Promise<Answer>>> = {
  issue: () => github.rest.issues.create({ ...site, title: 'The footer shows last year' }),
  merge: () => github.rest.pulls.merge({ ...site, pull_number: 7, commit_title: 'Fix the footer' }),
  branch: () => github.rest.git.deleteRef({ ...site, ref: 'heads/main' }),
}

type Answer = { readonly status: number; readonly data: unknown }

const step = STEPS[process.argv[2] ?? '']
if (step === undefined) throw new Error(`steps: ${Object.keys(STEPS).join(', ')}`)
const { status, data } = await step().catch(refusal)
process.stdout.write(`${JSON.stringify({ status, body: data ?? null })}\n`)

/** The SDK throws what is not 2xx, with the answer in it. */
function refusal(error: unknown): Answer {
  const { response } = error as { response?: Answer }
  if (response === undefined) throw error
  return response
}

function silent() {
  const nothing = () => undefined
  return { debug: nothing, info: nothing, warn: nothing, error: nothing }
}
