import fc from 'fast-check'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { readCorpus } from '../../core/connectors/golden.ts'
import { eventually } from '../../support/eventually.ts'
import { queueLookups, size } from '../../support/proof.ts'
import { startTestInstallation, type TestInstallation } from '../routes/installation.ts'
import { at } from '../routes/start.ts'
import { applyCluster, applyFolder, type Reply } from './folder.ts'

/** The untouched defaults, and configurations that the property draws: each run starts two installations. */
const RUNS = size(2, 40)
vi.setConfig({ testTimeout: size(240_000, 3_600_000) })
const AGENTS = ['bot', 'Builder One', 'else']
/** Agents of a cluster, two of them of the Gateway's namespace. */
const IN_CLUSTER: Readonly<Record<string, string>> = {
  bot: 'default/bot',
  'Builder One': 'default/builder',
  else: 'other/else',
}
const HOSTS = { codehost: 'api.github.com', payments: 'api.stripe.com', generic: 'api.example.com' } as const
const TYPES = Object.keys(HOSTS) as ReadonlyArray<keyof typeof HOSTS>

/** Requests of the golden corpora to the hosts of the connectors that are placed below. */
const REQUESTS = readCorpus()
  .flatMap(({ cases }) => cases)
  .flatMap(({ connector, request: { method, target } }) => {
    const host = (HOSTS as Readonly<Record<string, string>>)[connector]
    return host !== undefined && target.startsWith('/') ? [{ method, url: `https://${host}${target}` }] : []
  })
  .filter((_, index) => index % size(35, 5) === 0)

/** Submitted actions, about which default policies have an opinion. */
const ACTIONS = [
  'issue.create',
  'issue.list',
  'pr.merge',
  'branch.delete',
  'repo.delete',
  'contents.get',
].map((name) => ({
  type: `codehost.${name}`,
  resource: { provider: 'codehost', target: 'acme/site', environment: 'production' },
}))

const decision = fc.constantFrom('allow', 'deny', 'require_approval')
const pattern = (type: string) =>
  fc.constantFrom(
    `${type}.*`,
    `${type}.repo.*`,
    `${type}.issue.*`,
    `${type}.unmapped.get`,
    `${type}.pr.merge`,
  )
const permission = fc.constantFrom(...TYPES).chain((type) =>
  fc.record({
    connector_type: fc.constant(type),
    action_pattern: pattern(type),
    decision,
    agent: fc.constantFrom('*', ...AGENTS),
  }),
)
const policy = fc.record({
  actions: fc.constantFrom('*', 'codehost.*', 'codehost.pr.*', 'payments.*'),
  agents: fc.constantFrom('*', ...AGENTS),
  condition: fc.constantFrom('action.effect == "write"', 'action.risk == "high"', 'true'),
  decision,
  priority: fc.integer({ min: 5, max: 200 }),
  enabled: fc.boolean(),
  mode: fc.constantFrom('enforce', 'enforce', 'monitor'),
})
const CONFIGURATION = fc.record({
  level: fc.constantFrom('full_enforce', 'enforce_high_risk'),
  permissions: fc.array(permission, { minLength: 3, maxLength: 12 }),
  policies: fc.array(policy, { minLength: 1, maxLength: 5 }),
  disabled: fc.subarray(['default-deny-destructive', 'default-approve-risky', 'default-allow-safe']),
  removed: fc.constantFrom(null, 'default-deny-destructive'),
})
type Configuration = typeof CONFIGURATION extends fc.Arbitrary<infer T> ? T : never

/** Always tried: all three outcomes are in it. */
const UNTOUCHED_DEFAULTS: Configuration = {
  level: 'full_enforce',
  permissions: [{ connector_type: 'codehost', action_pattern: 'codehost.*', decision: 'allow', agent: '*' }],
  policies: [],
  disabled: [],
  removed: null,
}

const started: TestInstallation[] = []
beforeAll(() => expect(REQUESTS.length).toBeGreaterThan(size(20, 150)))
afterAll(() => Promise.all(started.map((each) => each[Symbol.asyncDispose]())))

async function start(env: Record<string, string> = {}): Promise<TestInstallation> {
  const installation = await startTestInstallation(env)
  started.push(installation)
  return installation
}

async function must(where: TestInstallation, method: string, path: string, body?: unknown) {
  const answer = await where.admin(method, `/api/dashboard/${path}`, body)
  expect(answer.status, `${method} ${path}: ${answer.text}`).toBe(200)
  return answer.body
}

async function configure(where: TestInstallation, { level, ...wanted }: Configuration): Promise<void> {
  const [gateway] = at<{ id: string }[]>(await must(where, 'GET', 'gateway'), 'gateways')
  await must(where, 'PATCH', 'gateway', { gateway_id: gateway?.id, enforcementLevel: level })
  for (const type of TYPES) {
    const domains = type === 'generic' ? { domains: [HOSTS[type]] } : {}
    await must(where, 'POST', 'connectors', { type, token: 'canary', ...domains })
  }
  for (const each of wanted.permissions)
    await must(where, 'POST', 'permissions', { gateway_name: 'local', ...each })
  for (const [index, each] of wanted.policies.entries()) {
    const { actions, agents, condition, decision: verdict, ...record } = each
    const document = {
      scope: { actions: [actions], agents: [agents] },
      rules: [{ name: 'rule', conditions: [condition], decision: verdict }],
    }
    await must(where, 'POST', 'policies', {
      name: `policy ${index}`,
      policyYaml: JSON.stringify(document),
      ...record,
    })
  }
  const rows = at<{ id: string; name: string }[]>(await must(where, 'GET', 'policies'), 'policies')
  for (const { id, name } of rows) {
    if (name === wanted.removed) await must(where, 'DELETE', `policies?policy_id=${id}`)
    else if (wanted.disabled.includes(name))
      await must(where, 'PATCH', 'policies', { policy_id: id, enabled: false })
  }
}

const areAccepted = (replies: readonly Reply[]) =>
  expect(replies.filter(({ accepted }) => !accepted)).toEqual([])

/** What each agent would be answered, and by which rules, in names instead of ids. */
async function decisions(where: TestInstallation, agents = AGENTS): Promise<readonly string[]> {
  const version = Number((await where.sql('select version from config_version'))[0]?.['version'])
  const explain = (agent: string, { method, url }: (typeof REQUESTS)[number]) =>
    where.admin('GET', `/api/dashboard/explain?${new URLSearchParams({ method, url, agent })}`)
  await eventually('the newest configuration', async () => {
    const { body } = await explain('bot', { method: 'GET', url: 'https://api.github.com/user' })
    return at<number>(body, 'snapshot_version') === version ? true : null
  })
  const submitted = agents.flatMap((agent) => ACTIONS.map((action) => ({ agent, action })))
  const dryRuns = await queueLookups(submitted, 8, async ({ agent, action }) => {
    const query = new URLSearchParams({ agent, action_spec: JSON.stringify(action) })
    const { status, body } = await where.admin('GET', `/api/dashboard/dry-run?${query}`)
    return `${agent} submits ${action.type}: ${status} ${at(body, 'decision', 'outcome')}`
  })
  const asked = agents.flatMap((agent) => REQUESTS.map((request) => ({ agent, request })))
  const explained = await queueLookups(asked, 8, async ({ agent, request }) => {
    const { status, body } = await explain(agent, request)
    const verdict = at(body, 'decision', 'verdict')
    return `${agent} ${request.method} ${request.url}: ${status} ${verdict} by ${at(body, 'decision', 'source')}`
  })
  return [...dryRuns, ...explained]
}

test('exported manifests in a folder decide on an empty installation as the rows did', async () => {
  const seen = new Set<string>()
  await fc.assert(
    fc.asyncProperty(CONFIGURATION, async (configuration) => {
      const [one, other] = await Promise.all([start(), start()])
      for (const name of AGENTS)
        for (const where of [one, other])
          await must(where, 'POST', 'agents', { name, runtime: 'x', environment: 'production' })
      await configure(one, configuration)
      const { text } = await one.admin('GET', '/api/dashboard/export?format=manifests')
      expect(text).not.toContain('canary')
      areAccepted(await applyFolder(other, text))
      const before = await decisions(one)
      for (const line of before) seen.add(line.slice(line.lastIndexOf(': ')))
      expect(await decisions(other)).toEqual(before)
      for (const each of started.splice(0)) await each[Symbol.asyncDispose]()
    }),
    { numRuns: RUNS, endOnFailure: true, examples: [[UNTOUCHED_DEFAULTS]] },
  )
  for (const word of ['200 allow', '200 deny', '200 requires_approval'])
    expect([...seen].join()).toContain(word)
})

/** The configuration with agents as a cluster names them. */
function inCluster(configuration: Configuration): Configuration {
  const nameOf = (agent: string) => IN_CLUSTER[agent] ?? agent
  return {
    ...configuration,
    permissions: configuration.permissions.map((each) => ({ ...each, agent: nameOf(each.agent) })),
    policies: configuration.policies.map((each) => ({ ...each, agents: nameOf(each.agents) })),
  }
}

/** A submitted action requires approval, a request is held. */
const STRICTNESS: Readonly<Record<string, number>> = { allow: 0, requires_approval: 1, hold: 1, deny: 2 }
/** `who asked what: status outcome …` */
function strictness(line: string): number {
  const [, outcome = ''] = /: \d+ (\w+)/.exec(line) ?? []
  const found = STRICTNESS[outcome]
  if (found === undefined) throw new Error(line)
  return found
}

test('exported manifests in a cluster, where policies come into other tiers, never decide more mildly', async () => {
  const agents = Object.values(IN_CLUSTER)
  const env = { PLATFORM_NAMESPACES: 'chaperone-system' }
  await fc.assert(
    fc.asyncProperty(CONFIGURATION.map(inCluster), async (configuration) => {
      const [one, other] = await Promise.all([start(env), start(env)])
      for (const name of agents)
        for (const where of [one, other])
          await must(where, 'POST', 'agents', { name, runtime: 'x', environment: 'production' })
      await configure(one, configuration)
      const { text } = await one.admin('GET', '/api/dashboard/export?format=manifests')
      areAccepted(await applyCluster(other, text))
      const before = await decisions(one, agents)
      const after = await decisions(other, agents)
      for (const [index, line] of before.entries()) {
        const now = after[index] ?? ''
        expect(strictness(now), `${line} became ${now}`).toBeGreaterThanOrEqual(strictness(line))
      }
      for (const each of started.splice(0)) await each[Symbol.asyncDispose]()
    }),
    { numRuns: RUNS, endOnFailure: true, examples: [[UNTOUCHED_DEFAULTS]] },
  )
})
