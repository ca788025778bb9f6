import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { STARTER_DIR } from '../../../controlplane/cli/up/starter-manifests.ts'
import { createSectionLibrary, type SectionLibrary } from '../../../controlplane/sync/sections/library.ts'
import { createCatalogue } from '../../../core/connectors/catalogue.ts'
import { decide } from '../../../core/decision/decide.ts'
import { buildSnapshot } from '../../../core/snapshot/build.ts'
import type { Snapshot } from '../../../core/snapshot/snapshot.ts'
import type { PushReply } from '../../../core/wire/operator/operator.ts'
import {
  EMPTY_SET,
  folderItems,
  type ManifestFile,
  type ManifestSet,
  nextSet,
} from '../../../operator/folder/manifest-set.ts'
import { type Enrolled, type Replica, startWorld, type World } from '../../controlplane/sync/harness.ts'
import { size } from '../../support/proof.ts'

const POLICY_FILE = '90-policy.yaml'
/** Characters between two typos. No multiple of 3, so that the kinds of typos alternate. */
const STEP = size(448, 1)
const { rows } = createCatalogue()

let world: World
let replica: Replica
let gateway: Enrolled
let library: SectionLibrary
let snapshot: Snapshot | undefined

beforeAll(async () => {
  world = await startWorld()
  replica = await world.replica()
  gateway = await replica.enrol('default/local')
  library = createSectionLibrary({
    db: replica.db,
    keyring: world.keyring,
    organisationToken: { read: async () => null, scope: { kind: 'all' } },
    approvalsChat: async () => ({ channel: null, botToken: null }),
  })
})
afterAll(() => world.stop())

const starter = (): ManifestFile[] =>
  readdirSync(STARTER_DIR).map((file) => ({ file, text: readFileSync(join(STARTER_DIR, file), 'utf8') }))
const policyText = () => readFileSync(join(STARTER_DIR, POLICY_FILE), 'utf8')
const withPolicy = (text: string) =>
  starter().map((each) => (each.file === POLICY_FILE ? { file: POLICY_FILE, text } : each))

/** Pushes a folder as the operator does. */
async function apply(set: ManifestSet): Promise<PushReply[]> {
  const items = folderItems(set)
  const { status, body } = await replica.operator('POST', '/api/operator/changes', {
    source: 'file',
    objects: items.map((item) => item.body),
    present: items.map(({ object: { kind, namespace, name }, body }) => ({
      kind,
      namespace,
      name,
      uid: body.uid,
    })),
    problems: set.problems,
  })
  expect(status, JSON.stringify(body)).toBe(200)
  return body['replies'] as PushReply[]
}

/** Every action of the catalogue, as the gateway decides it now. */
async function verdicts(): Promise<ReadonlyMap<string, string>> {
  await library.reload()
  const found = library.of(gateway.id)
  if (found === null) throw new Error('the gateway has no sections')
  const sections = Object.fromEntries([...found.texts].map(([name, text]) => [name, JSON.parse(text)]))
  const input = { version: found.version, sections, hashes: found.hashes }
  snapshot = buildSnapshot(input, snapshot)
  const { permissions, policies, gateway: own } = snapshot
  const rules = { permissions, policies, level: own.level, defaultVerdict: own.defaultVerdict }
  const agent = { id: 'a', name: 'bot', environment: 'test', runtime: 'x', status: 'active' as const }
  return new Map(
    ['codehost', 'payments', 'chat', 'llm_a', 'llm_b', 'llm_c'].flatMap((connector) =>
      rows(connector).map(({ type, effect, risk, hints = {} }) => {
        const resource = { provider: connector }
        const action = { type, connector, effect, risk, resource, parameters: {}, riskHints: hints }
        return [type, decide(rules, { action, agent, nowMs: 0 }).verdict] as const
      }),
    ),
  )
}

const STRICTNESS = ['allow', 'hold', 'deny']
const stricter = (a: string | undefined, b: string) =>
  STRICTNESS.indexOf(a ?? 'allow') >= STRICTNESS.indexOf(b)

test(
  'no single typo in the policy of the starter set lets anything pass that the policy holds',
  async () => {
    await apply(nextSet(EMPTY_SET, starter()))
    const wanted = [...(await verdicts())].filter(([, verdict]) => verdict !== 'allow')
    expect(wanted.length).toBeGreaterThan(200)
    const text = policyText()
    const passed: string[] = []
    for (let at = 0; at < text.length; at += STEP) {
      const swapped = `${text.slice(0, at)}${text[at + 1] ?? ''}${text[at]}${text.slice(at + 2)}`
      const typo = [
        text.slice(0, at) + text.slice(at + 1),
        `${text.slice(0, at)}x${text.slice(at + 1)}`,
        swapped,
      ][at % 3]
      await apply(
        nextSet(
          EMPTY_SET,
          starter().filter(({ file }) => file !== POLICY_FILE),
        ),
      )
      await apply(nextSet(EMPTY_SET, withPolicy(typo ?? '')))
      const now = await verdicts()
      const loose = wanted
        .filter(([type, verdict]) => !stricter(now.get(type), verdict))
        .map(([type]) => type)
      if (loose.length > 0)
        passed.push(`${at}: ${JSON.stringify(text.slice(at - 20, at + 20))} lets pass ${loose.slice(0, 3)}`)
    }
    expect(passed).toEqual([])
  },
  size(300_000, 3_600_000),
)

test.each([
  ['a file that cannot be read', { text: null, failure: 'EACCES' }],
  ['an empty mapping', { text: '{}' }],
  ['a list', { text: '- kind: Policy' }],
  ['a scalar', { text: 'Policy' }],
  ['no kind', { text: 'apiVersion: chaperone.dev/v1alpha1\nmetadata: { name: x }\nspec: {}' }],
  [
    'an unknown kind of ours',
    { text: 'apiVersion: chaperone.dev/v1alpha1\nkind: Plcy\nmetadata: { name: x }' },
  ],
  ['text nested too deeply', { text: `a: ${'['.repeat(400)}` }],
  [
    'aliases that multiply',
    { text: `a: &a [1,1,1,1,1,1,1,1]\n${Array.from({ length: 60 }, (_, i) => `k${i}: *a`).join('\n')}` },
  ],
  [
    'a NUL in its scope',
    { text: policyText().replace('codehost.*', 'code\\0host.*').replace('"code', '"code') },
  ],
  ['a scope that ends in broken YAML', { text: policyText().replace('"mcp.rpc.*"]', '"mcp.rpc.*"') }],
  [
    'a policy that is sound beside a broken object',
    {
      text: `${policyText()}---\napiVersion: chaperone.dev/v1alpha1\nkind: Gateway\nmetadata: { name: other }\nspec: { nope: 1 }\n`,
    },
  ],
])('in place of the policy, %s denies the actions that the policy holds', async (_name, file) => {
  await apply(nextSet(EMPTY_SET, starter()))
  const wanted = [...(await verdicts())].filter(([, verdict]) => verdict !== 'allow')
  await apply(
    nextSet(
      EMPTY_SET,
      starter().filter((each) => each.file !== POLICY_FILE),
    ),
  )
  const others = starter().filter((each) => each.file !== POLICY_FILE)
  const set = nextSet(EMPTY_SET, [...others, { file: POLICY_FILE, ...file }])
  expect(set.problems.length).toBeGreaterThan(0)
  await apply(set)
  const now = await verdicts()
  expect(wanted.filter(([type, verdict]) => !stricter(now.get(type), verdict))).toEqual([])
  await apply(nextSet(set, starter()))
  expect([...(await verdicts())].filter(([, verdict]) => verdict !== 'allow')).toEqual(wanted)
})

test.each([
  ['a manifest of another API', 'apiVersion: apps/v1\nkind: Deployment\nmetadata: { name: x }\n'],
  [
    'a broken Connector',
    'apiVersion: chaperone.dev/v1alpha1\nkind: Connector\nmetadata: { name: x }\nspec: { typ: chat }\n',
  ],
  ['a Connector without a name', 'apiVersion: chaperone.dev/v1alpha1\nkind: Connector\nspec: {}\n'],
  ['an empty document', '---\n# nothing yet\n---\n'],
])('%s denies nothing', async (_name, text) => {
  await apply(nextSet(EMPTY_SET, starter()))
  const before = await verdicts()
  await apply(nextSet(EMPTY_SET, [...starter(), { file: '95-more.yaml', text }]))
  expect(await verdicts()).toEqual(before)
})

test.each([
  ['broken in its YAML', (text: string) => text.replace('actions: [', 'actions: [[')],
  ['without a legible name', (text: string) => text.replace('metadata:', 'metdata:')],
  ['that cannot be opened', () => null],
  ['emptied to something else', () => 'x'],
])(
  'a policy file that was good and is then %s keeps its last good version, over a restart too',
  async (_name, edit) => {
    const good = nextSet(EMPTY_SET, starter())
    await apply(good)
    const before = await verdicts()
    const others = starter().filter((each) => each.file !== POLICY_FILE)
    const broken = [...others, { file: POLICY_FILE, text: edit(policyText()) }]
    for (const previous of [good, EMPTY_SET]) {
      await apply(nextSet(previous, broken))
      expect(await verdicts()).toEqual(before)
    }
  },
)

test('a broken policy that is added to a valid file denies its scope', async () => {
  const added = (scope: string) => `${policyText()}---
apiVersion: chaperone.dev/v1alpha1
kind: Policy
metadata: { name: added }
spec: { scope: ${scope}, rules: [{ name: x, decision: denny }] }
`
  const good = nextSet(EMPTY_SET, starter())
  await apply(good)
  const before = await verdicts()
  expect(before.get('codehost.issue.get')).toBe('allow')
  await apply(nextSet(good, withPolicy(added('{ actions: [codehost.issue.*] }'))))
  const now = await verdicts()
  expect(now.get('codehost.issue.get')).toBe('deny')
  expect(now.get('codehost.pr.merge')).toBe('hold')
  expect(now.get('codehost.repo.get')).toBe('allow')
  await apply(nextSet(good, starter()))
  expect(await verdicts()).toEqual(before)
})
