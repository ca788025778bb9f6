import type { Configuration } from '../../../controlplane/sync/sections/configuration.ts'
import { createSectionTexts } from '../../../controlplane/sync/sections/section-texts.ts'
import { createSectionBuilder, type SectionSet } from '../../../controlplane/sync/sections/sections.ts'
import { GatewaySpec } from '../../../core/crd/gateway/gateway-spec.ts'
import { PROTOCOL } from '../../../core/wire/gateway/sections/field-additions.ts'

export type SectionCosts = {
  /** CPU in ms for the sets of all sidecars after one permission of one agent changed. */
  readonly cpuMs: number
  /** Longest step in ms. The event loop is blocked for it. */
  readonly longestMs: number
  /** Sidecars of which a section changed, and the bytes of all changed sections. */
  readonly concerned: number
  readonly bytes: number
}

/**
 * Measures what one changed permission of one agent costs at a Gateway with so many sidecars: half of the permissions
 * are for all agents, and the others name one agent each.
 */
export function measureSectionCosts(sidecars: number, permissions: number): SectionCosts {
  const agents = Array.from({ length: sidecars }, (_, index) => `bench/agent-${index}`)
  const texts = createSectionTexts()
  const first = build(configurationOf(agents, permissions, 'before'), agents, texts)
  const configuration = configurationOf(agents, permissions, 'after')
  const before = process.cpuUsage()
  const second = build(configuration, agents, createSectionTexts(texts.sections))
  const { user, system } = process.cpuUsage(before)
  const changed = second.sets.map((set, index) => changedBytes(first.sets[index], set))
  return {
    cpuMs: (user + system) / 1e3,
    longestMs: second.longestMs,
    concerned: changed.filter((bytes) => bytes > 0).length,
    bytes: changed.reduce((a, b) => a + b, 0),
  }
}

function build(
  configuration: Configuration,
  agents: readonly string[],
  texts: ReturnType<typeof createSectionTexts>,
) {
  const builder = createSectionBuilder(configuration, texts)
  let longestMs = 0
  const sets = agents.map((agent) => {
    const steps = builder.stepsOf('gw', { agent, protocol: PROTOCOL })
    for (;;) {
      const startedAt = performance.now()
      const step = steps.next()
      longestMs = Math.max(longestMs, performance.now() - startedAt)
      if (step.done) return step.value
    }
  })
  return { sets, longestMs }
}

function changedBytes(old: SectionSet | null | undefined, fresh: SectionSet | null): number {
  const changed = [...(fresh?.texts ?? [])].filter(([name]) => old?.hashes[name] !== fresh?.hashes[name])
  return changed.reduce((sum, [, text]) => sum + text.length, 0)
}

function configurationOf(agents: readonly string[], permissions: number, reason: string): Configuration {
  const base = { orgId: 'org', gatewayId: 'gw', connectorType: 'llm_a', decision: 'allow', source: 'api' }
  const rows = Array.from({ length: permissions }, (_, index) => {
    const agent = index % 2 === 0 ? '*' : agents[(index >> 1) % agents.length]
    const actionPattern = `llm_a.action${index}`
    const none = { managedBy: null, origin: null, owner: null, createdAt: new Date(0) }
    return {
      id: `perm_${index}`,
      agent,
      actionPattern,
      reason: index === 1 ? reason : null,
      ...base,
      ...none,
    }
  })
  const entries = agents.map((name) => ({
    ...{ id: `agent_${name}`, name, gatewayId: 'gw', runtime: 'other', environment: 'production' },
    ...{ status: 'active', apiKeySha256: null, source: 'api', managedBy: null },
  }))
  const gateway = { id: 'gw', name: 'bench/gw', spec: GatewaySpec.parse({}) }
  return {
    ...{ version: 1, epoch: 1, urlGatewayId: null, agents: entries, connectors: [], policies: [], keys: [] },
    gateways: new Map([['gw', gateway]]),
    permissions: new Map([['gw', rows]]),
  } as unknown as Configuration
}
