import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { testAgent } from '../../support/agent.ts'
import { type Laptop, startLaptop } from '../../support/laptop.ts'
import { descendant } from '../../support/processes.ts'
import type { Bed, Subject } from './subject.ts'

export async function startChaperone(bed: Bed, audit: 'async' | 'sync' = 'async'): Promise<Subject> {
  const rules = Array.from({ length: 999 }, (_, i) => `llm_a.bench_${i}.create`).concat(
    'llm_a.chat.create',
    'llm_a.*',
  )
  const laptop = await startLaptop({ manifests: { 'bench.yaml': benchManifests(bed, rules, audit) } })
  const gateway = descendant(laptop.pid, 'sidecar/main')
  if (gateway === null) throw new Error('the gateway process of chaperone was not found')
  const { target } = testAgent(laptop)
  const behind = [descendant(laptop.pid, 'controlplane/main'), descendant(laptop.pid, 'postgres')]
  return {
    name: 'chaperone',
    pid: gateway,
    target,
    behind: behind.flatMap((pid) => pid ?? []),
    finish: () => finishChaperone(laptop),
  }
}

/** Records as the control plane has them: they travel every 100 ms, so the list is read until it stays the same. */
async function finishChaperone(laptop: Laptop): Promise<number> {
  let count = -1
  for (let isStable = false; !isStable; ) {
    const { body } = await laptop.api('GET', '/api/dashboard/traffic?limit=500')
    const now = Array.isArray(body['traffic']) ? body['traffic'].length : 0
    isStable = now === count
    count = now
    if (!isStable) await sleep(300)
  }
  await laptop.stop()
  return count
}

/** An MCP server behind the same upstream: tools that read are allowed, those that are called `hold_…` need a person. */
export function mcpManifests(bed: Bed): string {
  const ca = readFileSync(bed.caFile, 'utf8').trim().replaceAll('\n', '\n      ')
  return [
    `kind: Connector\nmetadata: {name: tools}\nspec:\n  type: mcp\n  domains: [mcp.bench.example]\n` +
      `  credential: {secretRef: {name: llm, key: token}}\n  upstream:\n    url: https://127.0.0.1:${bed.upstreamPort}\n` +
      `    allowPrivateAddresses: true\n    caBundle: |\n      ${ca}`,
    `kind: Permission\nmetadata: {name: tools}\nspec:\n  gatewayRefs: [{ name: local }]\n  rules:\n` +
      `  - {connectorType: mcp, actionPattern: 'mcp.tools.read_*', decision: allow}\n` +
      `  - {connectorType: mcp, actionPattern: 'mcp.tools.hold_*', decision: require_approval}\n` +
      `  - {connectorType: mcp, actionPattern: 'mcp.tools.drop_*', decision: deny}`,
  ]
    .map((text) => `apiVersion: chaperone.dev/v1alpha1\n${text}`)
    .join('\n---\n')
}

/** One connector to the upstream of the bench, these permissions, and no rate limit to speak of. */
export function benchManifests(bed: Bed, patterns: readonly string[], audit = 'async'): string {
  const ca = readFileSync(bed.caFile, 'utf8').trim().replaceAll('\n', '\n      ')
  const documents = [
    `kind: Gateway\nmetadata: {name: local}\nspec: {audit: ${audit}, rateLimit: {requestsPerMinute: 1000000}}`,
    `kind: Connector\nmetadata: {name: llm}\nspec:\n  type: llm_a\n  domains: [api.openai.com, '*.bench.example']\n` +
      `  credential: {secretRef: {name: llm, key: token}}\n  upstream:\n    url: https://127.0.0.1:${bed.upstreamPort}\n` +
      `    allowPrivateAddresses: true\n    caBundle: |\n      ${ca}`,
  ].map((text) => `apiVersion: chaperone.dev/v1alpha1\n${text}`)
  documents.push(
    `apiVersion: chaperone.dev/v1alpha1\nkind: Connector\nmetadata: {name: files}\nspec:\n  type: generic\n` +
      `  domains: [files.bench.test]\n  credential: {secretRef: {name: llm, key: token}}\n  upstream:\n` +
      `    url: https://127.0.0.1:${bed.upstreamPort}\n    allowPrivateAddresses: true\n    caBundle: |\n      ${ca}`,
    `apiVersion: chaperone.dev/v1alpha1\nkind: Permission\nmetadata: {name: files}\nspec:\n  gatewayRefs: [{ name: local }]\n` +
      `  rules:\n  - {connectorType: generic, actionPattern: 'generic.*', decision: allow}`,
  )
  documents.push(
    'apiVersion: v1\nkind: Secret\nmetadata: {name: llm}\nstringData: {token: sk-bench-injected}',
  )
  for (let at = 0; at < patterns.length; at += 250) {
    const rules = patterns
      .slice(at, at + 250)
      .map((p) => `  - {connectorType: llm_a, actionPattern: '${p}', decision: allow}`)
    const head = `apiVersion: chaperone.dev/v1alpha1\nkind: Permission\nmetadata: {name: bench-${at}}\nspec:\n  gatewayRefs: [{ name: local }]\n  rules:\n`
    documents.push(head + rules.join('\n'))
  }
  return documents.join('\n---\n')
}
