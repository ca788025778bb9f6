import { Octokit } from '@octokit/rest'

/**
 * Demo agent that uses the code host's SDK with a placeholder key. The program contains no code for the gateway:
 * environment variables direct its requests to the gateway. Prints the response as one line of JSON.
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

/**
 * Returns the response of a failed call. The SDK throws an error that contains the response for every status except
 * 2xx.
 */
function refusal(error: unknown): Answer {
  const { response } = error as { response?: Answer }
  if (response === undefined) throw error
  return response
}

function silent() {
  const nothing = () => undefined
  return { debug: nothing, info: nothing, warn: nothing, error: nothing }
}
