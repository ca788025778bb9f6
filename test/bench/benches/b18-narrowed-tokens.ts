import { type TestAgent, testAgent } from '../../support/agent.ts'
import { type GithubAppServer, startGithubAppServer } from '../../support/github-app-server.ts'
import { type Laptop, startLaptop } from '../../support/laptop.ts'
import type { Bench } from '../main.ts'
import { absolute } from '../support/report.ts'

const HOST = 'git.bench.example'
/** Most requests of one need, of which the gateway and the control plane keep 256. */
const MISSES = 200

/**
 * What tokens of single requests cost: the first request of a repository, for which the control plane fetches a token
 * from a server on this machine, and the second one. Requests one after the other, each on a connection of its own.
 */
export const narrowedTokens: Bench = async ({ isQuick }) => {
  const count = isQuick ? MISSES / 4 : MISSES
  const names = Array.from({ length: count }, (_, at) => `r${at}`)
  const server = await startGithubAppServer(['site', ...names])
  const laptop = await startLaptop({ manifests: { 'narrowed.yaml': manifestsOf(server) } })
  try {
    const agent = testAgent(laptop)
    await untilReady(agent)
    const misses = await timesOf(agent, names)
    const { length: issued } = server.issued
    const hits = await timesOf(agent, names)
    if (server.issued.length !== issued) throw new Error('a second request fetched a token')
    return [
      absolute('B18', `first request of a repository: p50 ms of ${count}`, at(misses, 0.5), null),
      absolute('B18', `first request of a repository: p99 ms of ${count}`, at(misses, 0.99), null),
      absolute('B18', `second request of a repository: p50 ms of ${count}`, at(hits, 0.5), null),
      absolute('B18', `second request of a repository: p99 ms of ${count}`, at(hits, 0.99), null),
    ]
  } finally {
    await stop(laptop, server)
  }
}

async function stop(laptop: Laptop, server: GithubAppServer): Promise<void> {
  await laptop.stop()
  await server[Symbol.asyncDispose]()
}

async function untilReady(agent: TestAgent): Promise<void> {
  for (let status = 0; status !== 200; ) status = await read(agent, 'site')
}

async function read(agent: TestAgent, name: string): Promise<number> {
  const { status } = await agent.send({ method: 'GET', host: HOST, target: `/repos/acme/${name}/pulls/1` })
  return status
}

/** Milliseconds of each request, in ascending order. */
async function timesOf(agent: TestAgent, names: readonly string[]): Promise<readonly number[]> {
  const times: number[] = []
  for (const name of names) {
    const startedAt = performance.now()
    const status = await read(agent, name)
    times.push(performance.now() - startedAt)
    if (status !== 200) throw new Error(`the request for ${name} has status ${status}`)
  }
  return times.toSorted((a, b) => a - b)
}

function at(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}

function manifestsOf({ url, appId, installationId, privateKey }: GithubAppServer): string {
  const key = privateKey.trim().replaceAll('\n', '\n    ')
  return [
    'kind: Gateway\nmetadata: { name: local }\nspec: { rateLimit: { requestsPerMinute: 1000000 } }',
    `kind: Connector\nmetadata: { name: git }\nspec:\n  type: codehost\n  domains: [${HOST}]\n` +
      `  upstream: { url: '${url}', allowPrivateAddresses: true, allowPlaintextCredential: true }\n` +
      `  credential:\n    secretRef: { name: app, key: key }\n` +
      `    githubApp: { appId: ${appId}, installationId: ${installationId}, apiUrl: '${url}' }`,
    `kind: Permission\nmetadata: { name: git }\nspec:\n  gatewayRefs: [{ name: local }]\n  rules:\n` +
      `  - { connectorType: codehost, actionPattern: 'codehost.*', decision: allow }`,
  ]
    .map((text) => `apiVersion: chaperone.dev/v1alpha1\n${text}`)
    .concat(`apiVersion: v1\nkind: Secret\nmetadata: { name: app }\nstringData:\n  key: |\n    ${key}`)
    .join('\n---\n')
}
