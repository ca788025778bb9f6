import { Octokit } from '@octokit/rest'
import { report } from './report.mjs'

const octokit = new Octokit({
  auth: process.env.GITHUB_TOKEN,
  log: { debug() {}, info() {}, warn() {}, error() {} },
})
const repo = { owner: 'acme', repo: 'site' }
await report({
  allowed: async () => (await octokit.rest.issues.create({ ...repo, title: 'hello' })).status,
  denied: async () => (await octokit.rest.git.deleteRef({ ...repo, ref: 'heads/feature/a b' })).status,
  held: async () => (await octokit.rest.pulls.merge({ ...repo, pull_number: 7 })).status,
})
