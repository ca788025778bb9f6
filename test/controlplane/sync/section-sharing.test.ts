import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Configuration } from '../../../controlplane/sync/sections/configuration.ts'
import { createSectionTexts } from '../../../controlplane/sync/sections/section-texts.ts'
import { createSectionBuilder, type SectionSet } from '../../../controlplane/sync/sections/sections.ts'
import { inSteps } from '../../../controlplane/sync/sections/steps.ts'
import { GatewaySpec } from '../../../core/crd/gateway/gateway-spec.ts'
import { coversAgent } from '../../../core/decision/permissions/agent-pattern.ts'
import { OWN_PERMISSIONS_SECTION } from '../../../core/snapshot/sections.ts'
import { PROTOCOL } from '../../../core/wire/gateway/sections/field-additions.ts'
import { eventually } from '../../support/eventually.ts'

const NAMES = ['a/bot', 'a/bot-2', 'a/x', 'b/bot', 'b/y']
const PATTERNS = ['*', 'a/*', 'a/bot*', 'b/*', ...NAMES]

type Rule = { readonly id: string; readonly agent: string; readonly reason?: string }

function configurationOf(rules: readonly Rule[], names: readonly string[] = NAMES): Configuration {
  const rows = rules.map(({ id, agent, reason = null }) => ({
    ...{ id, agent, reason, orgId: 'org', gatewayId: 'gw', connectorType: 'llm_a', actionPattern: 'llm_a.*' },
    ...{
      decision: 'allow',
      source: 'api',
      managedBy: null,
      origin: null,
      owner: null,
      createdAt: new Date(0),
    },
  }))
  const agents = names.map((name) => ({
    ...{ id: `agent_${name}`, name, gatewayId: 'gw', runtime: 'other', environment: 'production' },
    ...{ status: 'active', apiKeySha256: null, source: 'api', managedBy: null },
  }))
  const spec = GatewaySpec.parse({ enforcementLevel: 'full_enforce' })
  return {
    ...{ version: 1, epoch: 1, urlGatewayId: null, agents, connectors: [], policies: [], keys: [] },
    gateways: new Map([['gw', { id: 'gw', name: 'a/gw', spec }]]),
    permissions: new Map([['gw', rows]]),
  } as unknown as Configuration
}

function permissionIds({ texts }: SectionSet): readonly string[] {
  const sections = [...texts].filter(([name]) => name.startsWith('permissions.'))
  return sections.flatMap(([, text]) => (JSON.parse(text) as Rule[]).map(({ id }) => id)).sort()
}

function setFor(rules: readonly Rule[], agent: string | null): SectionSet {
  const set = createSectionBuilder(configurationOf(rules), createSectionTexts()).build('gw', {
    agent,
    protocol: PROTOCOL,
  })
  if (set === null) throw new Error('the gateway has no sections')
  return set
}

const rules = fc
  .array(fc.constantFrom(...PATTERNS), { maxLength: 40 })
  .map((agents) => agents.map((agent, index) => ({ id: `perm_${index}`, agent })))

test('a sidecar receives exactly the permissions that can apply to its agent, each once', () => {
  fc.assert(
    fc.property(rules, fc.constantFrom(...NAMES, 'c/none'), (given, agent) => {
      const wanted = given.filter((rule) => coversAgent(rule.agent, agent)).map(({ id }) => id)
      expect(permissionIds(setFor(given, agent))).toEqual(wanted.sort())
    }),
  )
})

test('a gateway process receives all permissions, without the section of one agent', () => {
  const given = PATTERNS.map((agent, index) => ({ id: `perm_${index}`, agent }))
  const set = setFor(given, null)
  expect(permissionIds(set)).toEqual(given.map(({ id }) => id).sort())
  expect(set.hashes).not.toHaveProperty([OWN_PERMISSIONS_SECTION])
})

test('sidecars share all sections but those of their agents, also with the configuration before', () => {
  const names = Array.from({ length: 50 }, (_, index) => `a/agent-${index}`)
  const shared = Array.from({ length: 100 }, (_, index) => ({ id: `perm_all_${index}`, agent: '*' }))
  const own = names.map((agent) => ({ id: `perm_${agent}`, agent }))
  const before = createSectionTexts()
  const build = (given: readonly Rule[], texts: typeof before) => {
    const builder = createSectionBuilder(configurationOf(given, names), texts)
    return names.map((agent) => builder.build('gw', { agent, protocol: PROTOCOL }))
  }
  const old = build([...shared, ...own], before)
  const different = (name: string) => new Set(old.map((set) => set?.hashes[name])).size
  const perAgent = Object.keys(old[0]?.hashes ?? {}).filter((name) => different(name) > 1)
  expect(perAgent).toEqual(['agents', OWN_PERMISSIONS_SECTION])

  const changed = own.map((rule, index) => (index === 7 ? { ...rule, reason: 'changed' } : rule))
  const fresh = build([...shared, ...changed], createSectionTexts(before.sections))
  const differing = fresh.flatMap((set, index) =>
    Object.entries(set?.hashes ?? {})
      .filter(([name, hash]) => old[index]?.hashes[name] !== hash)
      .map(([name]) => [index, name]),
  )
  expect(differing).toEqual([[7, OWN_PERMISSIONS_SECTION]])
})

test('10,000 permissions are built in steps, and what was built is kept', () => {
  const names = Array.from({ length: 100 }, (_, index) => `a/agent-${index}`)
  const given = Array.from({ length: 10_000 }, (_, index) => ({
    id: `perm_${index}`,
    agent: index % 2 === 0 ? '*' : `a/agent-${index % 100}`,
  }))
  const builder = createSectionBuilder(configurationOf(given, names), createSectionTexts())
  const stepsOf = (agent: string | null) => {
    let count = 0
    const steps = builder.stepsOf('gw', { agent, protocol: PROTOCOL })
    while (steps.next().done !== true) count += 1
    return count
  }
  expect(stepsOf('a/agent-1')).toBeGreaterThan(50)
  // The sidecar has its own section, the gateway process none.
  expect(stepsOf('a/agent-1')).toBeLessThan(5)
  expect(stepsOf(null)).toBeGreaterThan(50)
  expect(stepsOf(null)).toBe(0)
})

test('a step has at most 250 entries', () => {
  const entries = Array.from({ length: 1_001 }, (_, index) => index)
  const done: number[][] = []
  const steps = inSteps(entries, (some) => void done.push([...some]))
  while (steps.next().done !== true) expect(done.at(-1)?.length).toBeLessThanOrEqual(250)
  expect(done.flat()).toEqual(entries)
  expect(done).toHaveLength(5)
})

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

test('sections are released two configurations later', async () => {
  let texts = createSectionTexts()
  const build = (reason: string) => new WeakRef(texts.sectionOf('keys', [reason], PROTOCOL))
  const first = build('first')
  for (const reason of ['second', 'third']) {
    texts = createSectionTexts(texts.sections)
    build(reason)
  }
  await eventually('the release of a section', () => {
    collect()
    return first.deref() === undefined ? true : null
  })
  expect(texts.sections.size).toBe(1)
})
