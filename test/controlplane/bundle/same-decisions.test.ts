import { readdirSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readCorpus } from '../../core/connectors/golden.ts'
import type { ActionText, RulesText } from '../../core/decision/fixtures.ts'
import { queueLookups, size } from '../../support/proof.ts'
import { OPERATOR_TOKEN, startTestInstallation, type TestInstallation } from '../routes/installation.ts'
import { at, caller } from '../routes/start.ts'

const FOLDER = new URL('../../golden/decisions/', import.meta.url)
type Corpus = { readonly rules: RulesText; readonly cases: readonly { readonly action: ActionText }[] }
const CORPORA = readdirSync(FOLDER).map(
  (file) => JSON.parse(readFileSync(new URL(file, FOLDER), 'utf8')) as Corpus,
)
const AGENTS = [
  { name: 'in development', runtime: 'x', environment: 'development' },
  { name: 'in production', runtime: 'x', environment: 'production' },
]

/** One golden request of this many. */
const STEP = size(8, 1)

/** Every action of the golden decisions, and the actions that golden requests are named: all of them in the nightly run. */
const SPECS: readonly object[] = [
  ...CORPORA.flatMap(({ cases }) => cases.map(({ action }) => specOf(action))),
  ...readCorpus()
    .flatMap(({ cases }) => cases)
    .filter((_, index) => index % STEP === 0)
    .flatMap(({ expect: { action: type, target, parameters = {} }, connector }) =>
      type === undefined
        ? []
        : [{ type, resource: { provider: connector, ...(target && { target }) }, parameters }],
    ),
]

function specOf({ type, hints, parameters = {}, environment }: ActionText): object {
  const resource = { provider: type.split('.')[0], ...(environment && { environment }) }
  return { type, resource, parameters, risk_hints: hints ?? {} }
}

let one: TestInstallation
let other: TestInstallation

beforeAll(async () => {
  ;[one, other] = await Promise.all([startTestInstallation(), startTestInstallation()])
  for (const agent of AGENTS) await must(one, 'POST', '/api/dashboard/agents', agent)
  const policies = '/api/dashboard/policies'
  for (const { rules } of CORPORA) {
    for (const { id, name = id, priority = 100, mode = 'enforce', yaml } of rules.policies) {
      await must(one, 'POST', policies, { name, priority, mode, policyYaml: yaml, tags: ['corpus'] })
    }
  }
  const own = at<{ id: string; name: string }[]>((await must(one, 'GET', policies)).body, 'policies')
  const idOf = (name: string) => own.find((policy) => policy.name === name)?.id
  // What an installation begins with is as much its owner's to change as the rest.
  await must(one, 'PATCH', policies, { policy_id: idOf('default-deny-destructive'), enabled: false })
  await must(one, 'DELETE', `${policies}?policy_id=${idOf('default-allow-safe')}`)
  // An edit whose tests fail is stored, and the text before it stays in force.
  const allowed = `scope: { actions: ['app.peer.*'] }\nrules:\n  - { name: all, decision: allow }\n`
  const failing = `${allowed}tests:\n  - { name: t, action: { type: app.peer.bad, resource: { provider: app } }, expect: { outcome: deny } }\n`
  const edited = await must(one, 'PATCH', policies, { policy_id: idOf('peer deny'), policyYaml: failing })
  expect(edited.body['active']).toBe(false)
})
afterAll(async () => {
  await one?.[Symbol.asyncDispose]()
  await other?.[Symbol.asyncDispose]()
})

async function must(where: TestInstallation, method: string, path: string, body?: unknown) {
  const answer = await where.admin(method, path, body)
  expect(answer.status, `${method} ${path}: ${answer.text}`).toBe(200)
  return answer
}

/** The answers to each agent about each action, with names in place of ids. */
async function decisions(where: TestInstallation): Promise<readonly Record<string, unknown>[]> {
  const { body } = await must(where, 'GET', '/api/dashboard/policies')
  const names = new Map(
    at<{ id: string; name: string }[]>(body, 'policies').map(({ id, name }) => [id, name]),
  )
  const named = (value: unknown) =>
    JSON.parse(
      JSON.stringify(value).replaceAll(/(pol_\w+)(@\d+)?/g, (_, id: string) => `policy ${names.get(id)}`),
    )
  const asked = AGENTS.flatMap(({ name }) => SPECS.map((spec) => ({ agent: name, spec })))
  return queueLookups(asked, 8, async ({ agent, spec }) => {
    const query = new URLSearchParams({ agent, action_spec: JSON.stringify(spec) })
    const answer = await where.admin('GET', `/api/dashboard/dry-run?${query}`)
    const { decision = {}, trace = [], policies_evaluated } = answer.body
    return {
      ...{ agent, spec, status: answer.status, policies_evaluated },
      decision: inAnyOrder(named(decision)),
      trace: sorted(named(trace)),
    }
  })
}

/** Policies of the same priority stand in the order of their ids, which are an installation's own. */
function inAnyOrder(decision: Record<string, unknown>): Record<string, unknown> {
  const lists = ['matched_policies', 'matched_rules'].map((name) => [name, sorted(at(decision, name) ?? [])])
  return { ...decision, ...Object.fromEntries(lists) }
}

function sorted(list: readonly unknown[]): readonly string[] {
  return list.map((one) => JSON.stringify(one)).toSorted()
}

describe('a bundle that is taken in by an empty installation', () => {
  test('leads to the same decision there about every action of the corpus, with the same reason and trace', async () => {
    const before = await decisions(one)
    const bundle = await must(one, 'GET', '/api/dashboard/export')
    const report = await must(other, 'POST', '/api/dashboard/import', bundle.body)
    expect(report.body).toMatchObject({
      errors: [],
      agents_imported: AGENTS.length,
      policies_disabled: [],
      defaults_disabled: ['default-allow-safe', 'default-approve-risky', 'default-deny-destructive'],
    })
    const after = await decisions(other)
    expect(after).toEqual(before)
    const outcomes = before.map(({ decision }) => at(decision, 'outcome'))
    expect(new Set(outcomes)).toEqual(new Set(['allow', 'deny', 'requires_approval']))
    expect(before.filter(({ status }) => status === 200).length).toBeGreaterThan(size(300, 1_000))
    expect(new Set(before.map(({ decision }) => at(decision, 'reason'))).size).toBeGreaterThan(15)
  }, 120_000)

  test('whose policies a user has edited already disables no policy', async () => {
    const bundle = {
      version: '1.0',
      policies: [{ name: 'more', policyYaml: 'rules: [{ name: a, decision: deny }]\n' }],
    }
    const report = await must(other, 'POST', '/api/dashboard/import', bundle)
    expect(report.body).not.toHaveProperty('defaults_disabled')
    const { body } = await must(other, 'GET', '/api/dashboard/policies')
    const enabled = at<{ name: string; enabled: boolean }[]>(body, 'policies').filter((row) => row.enabled)
    expect(enabled.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['more', 'default-approve-risky', 'guard']),
    )
  })
})

test('a policy that is bound to a gateway stays bound to the one of that name, and is left out where there is none', async () => {
  const name = 'team/edge'
  const gateway = { gateway: { name } }
  await must(one, 'POST', '/api/dashboard/gateway', gateway)
  const resource = {
    ...{
      apiVersion: 'chaperone.dev/v1alpha1',
      kind: 'Policy',
      metadata: { name: 'bound', namespace: 'team' },
    },
    spec: { gatewayRefs: [{ name: 'edge' }], rules: [{ name: 'all', decision: 'allow' }] },
  }
  const operator = caller(one.plane.url, { authorization: `Bearer ${OPERATOR_TOKEN}` })
  const put = await operator('PUT', '/api/operator/objects/Policy/team/bound', {
    ...{ uid: 'u', generation: 1, source: 'file', managed_by: 'bound.yaml', resource },
  })
  expect(put.body, put.text).toMatchObject({ accepted: true })
  const { body } = await must(one, 'GET', '/api/dashboard/export')
  const bound = at<{ name: string }[]>(body, 'policies').find((policy) => policy.name === 'team/bound')
  expect(bound).toMatchObject({ gateways: [name] })
  const bundle = { version: '1.0', policies: [bound] }
  const alone = await must(other, 'POST', '/api/dashboard/import', bundle)
  expect(alone.body).toMatchObject({
    policies_imported: 0,
    errors: [
      {
        kind: 'policy',
        name: 'team/bound',
        error: expect.stringContaining(`this installation has no gateway ${name}`),
      },
    ],
  })
  const made = await must(other, 'POST', '/api/dashboard/gateway', gateway)
  expect((await must(other, 'POST', '/api/dashboard/import', bundle)).body).toMatchObject({
    policies_imported: 1,
  })
  const rows = await other.sql(`select gateway_ids from policies where name = 'team/bound'`)
  expect(rows).toEqual([{ gateway_ids: [at(made.body, 'gateway_id')] }])
})
