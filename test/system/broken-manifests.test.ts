import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { IN_FORCE_TEXT, type InForce } from '../../core/wire/operator/operator.ts'
import { type TestAgent, testAgent } from '../support/agent.ts'
import { eventually } from '../support/eventually.ts'
import { type Laptop, startLaptop } from '../support/laptop.ts'
import { IS_FULL } from '../support/proof.ts'
import { startVendors, type Vendors } from '../support/vendors.ts'

const HEAD = 'apiVersion: chaperone.dev/v1alpha1'
const object = (kind: string, name: string, spec: string) =>
  `${HEAD}\nkind: ${kind}\nmetadata: { name: ${name} }\nspec:\n${spec.replaceAll(/^/gm, '  ')}\n`
const base = object(
  'Permission',
  'base',
  `gatewayRefs: [{ name: local }]
rules:
  - { connectorType: codehost, actionPattern: 'codehost.*', decision: allow }
  - { connectorType: payments, actionPattern: 'payments.*', decision: deny }`,
)

let vendors: Vendors
let laptop: Laptop
let agent: TestAgent

beforeAll(async () => {
  vendors = await startVendors()
  laptop = await startLaptop({
    database: 'worker',
    manifests: { 'vendors.yaml': vendors.manifests, 'base.yaml': base },
  })
  agent = testAgent(laptop)
})
afterAll(async () => {
  await laptop?.stop()
  await vendors?.recorder.close()
})

const FILE = 'case.yaml'
const write = (text: string) => writeFileSync(join(laptop.manifests, FILE), text)

type View = {
  readonly objects: ReadonlyArray<{ name: string; accepted: boolean; in_force: InForce; reasons: string[] }>
  readonly problems: ReadonlyArray<{ file: string; message: string }>
  readonly config_version: number
  readonly in_force: Readonly<Record<string, number | null>>
}

/** The status once the gateway has acknowledged the configuration that it describes. */
async function view(what: string, isDue: (seen: View) => boolean): Promise<View> {
  return eventually(
    what,
    async () => {
      const seen = (await laptop.api('GET', '/api/dashboard/manifests')).body as unknown as View
      const versions = Object.values(seen.in_force)
      const isInForce = versions.length > 0 && versions.every((each) => (each ?? -1) >= seen.config_version)
      return isInForce && isDue(seen) ? seen : null
    },
    60_000,
  )
}

const isSound = ({ objects, problems }: View) =>
  problems.length === 0 && objects.every(({ accepted }) => accepted)

const hasCase = ({ objects }: View) => objects.some(({ name }) => name === 'case')

beforeEach(async () => {
  rmSync(join(laptop.manifests, FILE), { force: true })
  await view('the manifests without the case', (seen) => isSound(seen) && !hasCase(seen))
  expect([await verdict(READ), await verdict(DELETE)]).toEqual(['allowed', 'allowed'])
})

async function good(text: string | null): Promise<void> {
  if (text === null) return
  write(text)
  await view('the good version', (seen) => isSound(seen) && hasCase(seen))
}

type Probe = { readonly method: string; readonly target: string }
const READ: Probe = { method: 'GET', target: '/repos/acme/site' }
const DELETE: Probe = { method: 'DELETE', target: '/repos/acme/site' }
const verdict = async ({ method, target }: Probe) => {
  const { status, body } = await agent.json({ method, host: 'api.github.com', target })
  if (status === 200) return 'allowed'
  return JSON.stringify(body).includes('policy_invalid') ? 'policy_invalid' : 'denied'
}

const policy = (rest: string) => object('Policy', 'case', rest)
const noDelete = policy(`scope: { actions: [codehost.repo.delete] }\nrules: [{ name: no, decision: deny }]`)
const typo = (condition: string, mode = 'enforce') =>
  policy(
    `mode: ${mode}\nscope: { actions: [codehost.repo.delete] }\nrules: [{ name: no, conditions: ['${condition}'], decision: deny }]`,
  )
const noReads = object(
  'Permission',
  'case',
  `gatewayRefs: [{ name: local }]
rules: [{ connectorType: codehost, actionPattern: 'codehost.repo.get', decision: deny }]`,
)

type Case = readonly [
  name: string,
  before: string | null,
  text: string,
  claim: InForce,
  read: string,
  remove: string,
]

const CASES: readonly Case[] = [
  [
    'a new policy with an unknown fact',
    null,
    typo('action.efect == "write"'),
    'denied',
    'allowed',
    'policy_invalid',
  ],
  [
    'a new policy with a mistyped value',
    null,
    typo('action.effect == "wirte"'),
    'denied',
    'allowed',
    'policy_invalid',
  ],
  [
    'a new policy with an unknown function',
    null,
    typo('action.type.startWith("x")'),
    'denied',
    'allowed',
    'policy_invalid',
  ],
  ['a new policy in mode monitor', null, typo('nope', 'monitor'), 'nothing', 'allowed', 'allowed'],
  [
    'a new policy whose own test fails',
    null,
    `${noDelete}  tests: [{ name: t, action: { type: codehost.repo.delete, resource: { provider: codehost } }, expect: { outcome: allow } }]\n`,
    'denied',
    'allowed',
    'policy_invalid',
  ],
  [
    'a new policy whose scope is unreadable',
    null,
    policy('scope: { actons: [codehost.repo.delete] }\nrules: [{ name: no, decision: deny }]'),
    'denied',
    'policy_invalid',
    'policy_invalid',
  ],
  ['a policy that was good', noDelete, typo('action.efect == "write"'), 'last_good', 'allowed', 'denied'],
  [
    'a policy for a Gateway that does not exist',
    null,
    noDelete.replace('  scope:', '  gatewayRefs: [{ name: nope }]\n  scope:'),
    'nothing',
    'allowed',
    'allowed',
  ],
]

// Every second case in `npm test`: `broken-policies.test.ts` has such policies in every scope, without the programs.
test.each(CASES.filter((_, at) => IS_FULL || at % 2 === 0))(
  '%s: the status says what holds',
  async (_name, before, text, claim, read, remove) => {
    await good(before)
    write(text)
    const isJudged = ({ objects }: View) => objects.some((each) => each.name === 'case' && !each.accepted)
    const seen = await view('the refusal', isJudged)
    expect(seen.objects.filter(({ accepted }) => !accepted)).toMatchObject([
      { name: 'case', in_force: claim },
    ])
    expect(await verdict(READ)).toBe(read)
    const deleted = vendors.recorder.seen.filter(({ method }) => method === 'DELETE').length
    expect(await verdict(DELETE)).toBe(remove)
    const passed = vendors.recorder.seen.filter(({ method }) => method === 'DELETE').length - deleted
    expect(passed).toBe(remove === 'allowed' ? 1 : 0)
    const { code, stdout } = await laptop.cli(['status'])
    expect(code).not.toBe(0)
    expect(stdout).toContain('some are not in force as written')
    expect(stdout).toContain(`(${IN_FORCE_TEXT[claim]})`)
  },
  120_000,
)

/** Files that cannot be read as objects: the status names the file, and the last good version or a denial holds. */
const FILES: ReadonlyArray<
  readonly [name: string, before: string | null, text: string, read: string, remove: string]
> = [
  ['a new permission with an unknown field', null, noReads.replace('rules:', 'rule:'), 'allowed', 'allowed'],
  ['a permission that was good', noReads, noReads.replace('rules:', 'rule:'), 'denied', 'allowed'],
  [
    'a new connector with an unknown field',
    null,
    object('Connector', 'case', 'typ: codehost\ndomains: [api.github.com]'),
    'allowed',
    'allowed',
  ],
  [
    'a new gateway with an unknown field',
    null,
    object('Gateway', 'case', 'levle: monitor'),
    'allowed',
    'allowed',
  ],
  [
    'a gateway that was good, with a level that does not exist',
    object('Gateway', 'case', 'enforcementLevel: full_enforce'),
    object('Gateway', 'case', 'enforcementLevel: none'),
    'allowed',
    'allowed',
  ],
  ['broken YAML of a new policy', null, `${noDelete}spec: [`, 'policy_invalid', 'policy_invalid'],
  ['broken YAML of a policy that was good', noDelete, `${noDelete}spec: [`, 'allowed', 'denied'],
]

test.each(FILES)(
  '%s: the status names the file',
  async (_name, before, text, read, remove) => {
    await good(before)
    write(text)
    const seen = await view('the problem', ({ problems }) => problems.length > 0)
    expect(seen.problems[0]).toMatchObject({ file: FILE })
    expect([await verdict(READ), await verdict(DELETE)]).toEqual([read, remove])
    const { code, stdout } = await laptop.cli(['status'])
    expect(code).not.toBe(0)
    expect(stdout).toContain('some are not in force as written')
    expect(stdout).toContain(FILE)
  },
  120_000,
)

test('after the corrections the status claims everything again', async () => {
  const { stdout } = await laptop.cli(['status'])
  expect(stdout).toContain('manifests      in force')
})
