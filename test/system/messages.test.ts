import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { IN_FORCE_TEXT } from '../../core/wire/operator/operator.ts'
import { type TestAgent, testAgent } from '../support/agent.ts'
import { eventually } from '../support/eventually.ts'
import { type Laptop, startLaptop } from '../support/laptop.ts'
import { requestBytes, sendRaw } from '../support/raw-http.ts'
import { openSocket } from '../support/tunnel.ts'
import { SECRETS, startVendors, type Vendors } from '../support/vendors.ts'

const HEAD = 'apiVersion: chaperone.dev/v1alpha1'
const POLICY = (decision: string, outcome: string) => `${HEAD}
kind: Policy
metadata: { name: no-closing }
spec:
  scope: { actions: [codehost.issue.close] }
  rules:
    - { name: people-close, conditions: ['true'], decision: ${decision}, reason: People close issues }
  tests:
    - name: closing is for people
      action: { type: codehost.issue.close, resource: { provider: codehost } }
      expect: { outcome: ${outcome} }
`

let vendors: Vendors
let laptop: Laptop
let agent: TestAgent

beforeAll(async () => {
  vendors = await startVendors()
  const bare = `---\n${HEAD}\nkind: Connector\nmetadata: { name: bare }\nspec: { type: generic, domains: [bare.example] }\n---\n${HEAD}\nkind: Permission\nmetadata: { name: bare }\nspec:\n  gatewayRefs: [{ name: local }]\n  rules: [{ connectorType: generic, actionPattern: 'generic.*', decision: allow }]\n`
  laptop = await startLaptop({
    manifests: {
      'vendors.yaml': vendors.manifests,
      'bare.yaml': bare.slice(4),
      'policy.yaml': POLICY('deny', 'deny'),
    },
  })
  agent = testAgent(laptop)
})
afterAll(async () => {
  await laptop?.stop()
  await vendors?.recorder.close()
})

const issue = () =>
  agent.json({
    method: 'POST',
    host: 'api.github.com',
    target: '/repos/acme/site/issues',
    body: '{"title":"x"}',
  })
const close = () =>
  agent.json({
    method: 'PATCH',
    host: 'api.github.com',
    target: '/repos/acme/site/issues/1',
    headers: [['Content-Type', 'application/json']],
    body: '{"state":"closed"}',
  })

const cli: Laptop['cli'] = (args, options) => laptop.cli(args, options)

/** What `chaperone get manifests` warns of, once it warns of `file`. */
const problemsOf = (file: string) =>
  eventually(`a problem with ${file}`, async () => {
    const { code, stderr } = await cli(['get', 'manifests'])
    return code === 1 && stderr.includes(file) ? stderr : null
  })
/** Time of the last verdict on the Connector of the code host. */
const judgedAt = async (): Promise<string | undefined> => {
  const { stdout } = await cli(['get', 'manifests', '--json'])
  const { objects } = JSON.parse(stdout) as { objects: { kind: string; name: string; judged_at: string }[] }
  return objects.find(({ kind, name }) => kind === 'Connector' && name === 'codehost')?.judged_at
}
const untilWell = () =>
  eventually('manifests in force', async () => ((await cli(['get', 'manifests'])).code === 0 ? true : null))

describe('a manifest with a mistake', () => {
  const mistakes: ReadonlyArray<readonly [what: string, from: string, to: string, message: RegExp]> = [
    ['broken YAML', 'kind: Gateway', 'kind: [Gateway', /vendors\.yaml:\d+: not valid YAML: .+/],
    [
      'an unknown field',
      'metadata: { name: local }\nspec: {}',
      'metadata: { name: local }\nspec: { enforcmentLevel: monitor }',
      /vendors\.yaml:4: unknown field spec\.enforcmentLevel; did you mean enforcementLevel\?/,
    ],
    [
      'a wrong apiVersion',
      `${HEAD}\nkind: Gateway`,
      'apiVersion: chaperone.dev/v1\nkind: Gateway',
      /vendors\.yaml:1: apiVersion "chaperone\.dev\/v1" is not known; a Gateway has apiVersion: chaperone\.dev\/v1alpha1/,
    ],
    [
      'an unknown kind',
      'kind: Gateway',
      'kind: Gatway',
      /vendors\.yaml:2: unknown kind "Gatway"; did you mean Gateway\?/,
    ],
    [
      'a wrong value',
      'decision: require_approval',
      'decision: ask',
      /vendors\.yaml:\d+: spec\.rules\[\d+\]\.decision: .*require_approval/,
    ],
  ]

  test.each(mistakes)(
    'that is %s is named by file and line, and what was in force stays in force',
    async (_what, from, to, message) => {
      expect((await issue()).status).toBe(201)
      const before = vendors.recorder.seen.length
      laptop.writeManifest('vendors.yaml', vendors.manifests.replace(from, to))
      expect(await problemsOf('vendors.yaml')).toMatch(message)
      expect((await issue()).status).toBe(201)
      expect(vendors.recorder.seen.length).toBe(before + 1)
      const status = await cli(['status'])
      expect(status.code).toBe(1)
      expect(status.stdout).toContain('some are not in force as written')
      const doctor = await cli(['doctor'])
      expect(doctor.stdout).toMatch(/PROBLEM {2}manifests: vendors\.yaml:\d+/)
      expect(doctor.code).toBe(1)
      laptop.writeManifest('vendors.yaml', vendors.manifests)
      await untilWell()
    },
  )

  test('that is a policy whose own test fails is named, and the old version stays', async () => {
    const before = vendors.recorder.seen.length
    expect(await close()).toMatchObject({ status: 403 })
    laptop.writeManifest('policy.yaml', POLICY('allow', 'deny'))
    const problem = await problemsOf('policy.yaml')
    expect(problem).toContain('closing is for people')
    expect(await close()).toMatchObject({ status: 403 })
    expect(vendors.recorder.seen.length).toBe(before)
    laptop.writeManifest('policy.yaml', POLICY('deny', 'deny'))
    await untilWell()
  })

  test('is in force once apply has ended, each of two in one second, and so are a removal and a new secret', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'chaperone-apply-'))
    const applied = async (name: string, text: string) => {
      writeFileSync(join(folder, name), text)
      expect(await cli(['apply', '-f', join(folder, name)])).toMatchObject({ code: 0, stderr: '' })
    }
    const permission = (name: string, type: string, decision: string) =>
      `---\n${HEAD}\nkind: Permission\nmetadata: { name: ${name} }\nspec:\n  gatewayRefs: [{ name: local }]\n  rules: [{ connectorType: codehost, actionPattern: ${type}, decision: ${decision} }]\n`
    const asked = async (method: string) =>
      (await agent.json({ method, host: 'api.github.com', target: '/user/starred/a/b' })).status
    // What cannot be read in the folder is no concern of this command.
    const dangling = join(laptop.manifests, 'dangling.yaml')
    symlinkSync('/nowhere/at/all.yaml', dangling)
    const kept = permission('kept', 'codehost.star.add', 'allow')
    await applied('hurried.yaml', kept)
    for (const decision of ['deny', 'allow', 'deny', 'allow']) {
      await applied('hurried.yaml', permission('kept', 'codehost.star.add', decision))
      expect(await asked('PUT'), decision).toBe(decision === 'deny' ? 403 : 200)
    }
    await applied('hurried.yaml', kept + permission('gone', 'codehost.star.remove', 'deny'))
    expect(await asked('DELETE')).toBe(403)
    await applied('hurried.yaml', kept + permission('instead', 'codehost.star.remove', 'allow'))
    expect(await asked('DELETE')).toBe(200)
    rmSync(dangling)
    // In a file of its own, as teams keep it.
    const secret = vendors.manifests.split('---\n').find((text) => text.includes('kind: Secret')) ?? ''
    const judgedBefore = await judgedAt()
    laptop.writeManifest('secrets.yaml', secret)
    laptop.writeManifest('vendors.yaml', vendors.manifests.replace(`${secret}---\n`, ''))
    // The Connector has other lines now. Its next verdict must not be the one that the command below waits for.
    await eventually('the move is judged', async () => ((await judgedAt()) === judgedBefore ? null : true))
    await untilWell()
    for (const value of ['first-secret', 'second-secret']) {
      await applied('secrets.yaml', secret.replace(SECRETS.codehost, value))
      expect(await asked('PUT')).toBe(200)
      expect(vendors.recorder.seen.at(-1)?.header('authorization')).toBe(`token ${value}`)
    }
    rmSync(join(laptop.manifests, 'secrets.yaml'))
    laptop.writeManifest('vendors.yaml', vendors.manifests)
    await untilWell()
    rmSync(folder, { recursive: true })
  })

  test('that only the control plane finds is refused by apply, which says what is denied', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'chaperone-apply-'))
    const file = join(folder, 'selected.yaml')
    const policy = POLICY('deny', 'deny').replace('no-closing', 'selected')
    writeFileSync(file, policy.replace('spec:', 'spec:\n  namespaceSelector: { matchLabels: { team: a } }'))
    const { code, stdout } = await cli(['apply', '-f', file])
    expect(code).toBe(1)
    expect(stdout).toMatch(/^Policy default\/selected: refused \(.*namespaceSelector.*\); /)
    expect(stdout).toContain(`; ${IN_FORCE_TEXT.denied}`)
    rmSync(join(laptop.manifests, 'selected.yaml'))
    rmSync(folder, { recursive: true })
    await untilWell()
  })

  test('is refused by apply before anything is touched', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'chaperone-apply-'))
    const file = join(folder, 'wrong.yaml')
    writeFileSync(file, `${HEAD}\nkind: Gateway\nmetadata: { name: other }\nspec: { level: 1 }\n`)
    const { code, stderr } = await cli(['apply', '-f', file])
    rmSync(folder, { recursive: true })
    expect(code).toBe(1)
    expect(stderr).toContain('wrong.yaml:4')
  })
})

describe('a credential that is missing', () => {
  test('is a 403 that names the connector and what to add', async () => {
    const { status, body } = await agent.json({ method: 'GET', host: 'bare.example', target: '/x' })
    expect(status).toBe(403)
    expect(body['error']).toBe('connector not ready')
    expect(body['message']).toMatch(/default\/bare.*no credential.*credential\.secretRef/)
  })

  test('is said by get connectors and doctor', async () => {
    const { stdout, stderr } = await cli(['get', 'connectors'])
    expect(stdout).toMatch(/default\/bare .*missing/)
    expect(stdout).toMatch(/default\/codehost +GitHub \(codehost\) .*stored/)
    expect(stderr).toContain('Connectors without a credential: default/bare.')
    const doctor = await cli(['doctor'])
    expect(doctor.stdout).toMatch(
      /warning {2}connector default\/bare: has no credential.*\n.*bare\.yaml: credential: \{ vault: bare \}\. Then: chaperone credential set bare/,
    )
  })
})

describe('an agent without its key', () => {
  test.each([
    ['no key', undefined],
    ['a wrong key', `Basic ${Buffer.from('dev:svc_test_wrong').toString('base64')}`],
    ['an unknown name', `Basic ${Buffer.from('nobody:svc_test_wrong').toString('base64')}`],
  ])('(%s) gets an error with the header to send on the shared port', async (_what, authorization) => {
    const before = vendors.recorder.seen.length
    const socket = await openSocket(Number(new URL(laptop.ready.gateway_url).port))
    const answer = await sendRaw(
      socket,
      requestBytes('POST', 'http://api.github.com/repos/acme/site/issues', [
        ['Host', 'api.github.com'],
        ...(authorization === undefined ? [] : ([['Proxy-Authorization', authorization]] as const)),
      ]),
    ).finally(() => socket.destroy())
    expect(answer.status).toBe(407)
    expect(answer.headers.get('proxy-authenticate')).toMatch(/^Basic/)
    const body = JSON.parse(answer.body.toString()) as Record<string, unknown>
    expect(body['message']).toMatch(/agent.*name.*key/i)
    expect(vendors.recorder.seen.length).toBe(before)
  })
})

describe('the command line', () => {
  const wrongUses: ReadonlyArray<readonly [args: string[], message: RegExp]> = [
    [['status', '--jsno'], /--jsno is not an option of chaperone status\. Did you mean --json\?/],
    [['get', 'polices'], /Did you mean policies\?/],
    [['kill'], /Give one of on, off, status/],
    [['agent'], /Give one of create, list/],
    [['run'], /chaperone run -- python agent\.py/],
    [['traffic', '--limit', '0'], /--limit must be a number from 1 to 500/],
    [['run', 'curl', '--', 'true'], /curl stands before --/],
    [['policy'], /Usage: chaperone policy test FILE/],
  ]
  test.each(wrongUses)('exits with 2 and says what is right: %j', async (args, message) => {
    const { code, stderr, stdout } = await cli(args)
    expect(code).toBe(2)
    expect(stderr).toMatch(message)
    expect(stdout).toBe('')
  })

  const policyFile = () => join(laptop.manifests, 'policy.yaml')
  /** The exit code is 0 where none is given. */
  const jsonUses: ReadonlyArray<readonly [args: () => string[], field: string, exitCode?: number]> = [
    [() => ['status'], 'health'],
    [() => ['agent', 'create', 'scripted'], 'api_key'],
    [() => ['agent', 'rotate', 'scripted'], 'api_key'],
    [() => ['agent', 'suspend', 'scripted'], 'agent'],
    [() => ['agent', 'activate', 'scripted'], 'agent'],
    [() => ['agent', 'revoke', 'scripted'], 'agent'],
    [() => ['agent', 'list'], 'agents'],
    [() => ['credential', 'ls'], 'credentials'],
    [() => ['apply', '-f', policyFile()], 'objects'],
    [() => ['get', 'gateways'], 'gateways'],
    [() => ['get', 'connectors'], 'connectors'],
    [() => ['get', 'permissions'], 'permissions'],
    [() => ['get', 'policies'], 'policies'],
    [() => ['get', 'agents'], 'agents'],
    [() => ['get', 'manifests'], 'objects'],
    [() => ['approvals', 'ls'], 'approvals'],
    [() => ['kill', 'on', '--scope', 'agent:nobody'], 'warning', 4],
    [() => ['kill', 'status'], 'effective'],
    [() => ['kill', 'off', '--scope', 'agent:nobody'], 'acknowledged'],
    [() => ['explain', 'GET', 'https://api.github.com/user'], 'decision'],
    [() => ['policy', 'test', policyFile()], 'policies'],
    [() => ['traffic', '--limit', '1'], 'action_type'],
    [() => ['doctor'], 'checks'],
    [() => ['logs', 'postgres', '--lines', '1'], 'line'],
  ]
  test('prints one line of JSON with --json, and nothing else, whatever the command', async () => {
    expect((await issue()).status).toBe(201)
    await eventually('a record', async () =>
      (await cli(['traffic', '--limit', '1'])).stdout === '' ? null : true,
    )
    for (const [args, field, exitCode = 0] of jsonUses) {
      const { code, stdout } = await cli([...args(), '--json'])
      expect([args(), code, stdout.split('\n').length]).toEqual([args(), exitCode, 2])
      expect(JSON.parse(stdout), args().join(' ')).toHaveProperty(field)
    }
  })

  test('says so when nothing fits, and when an agent does not exist', async () => {
    const none = await cli(['traffic', '--action-type', 'codehost.never.asked'])
    expect(none).toMatchObject({
      code: 0,
      stdout: '',
      stderr: expect.stringContaining('No matching records'),
    })
    const explained = await cli(['explain', 'GET', 'https://api.github.com/user', '--agent', 'nobdy'])
    expect(explained.stderr).toContain('There is no agent nobdy')
    expect(explained.stdout).toContain('codehost.')
    expect((await cli(['explain', 'GET', 'https://api.github.com/user'])).stderr).toBe('')
  })

  test('exits with 4 and a warning for a kill switch scope that nothing bears, and sets it all the same', async () => {
    const on = await cli(['kill', 'on', '--scope', 'agent:nobdy'])
    expect(on).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('No agent, connector or gateway is called agent:nobdy'),
    })
    expect(on.stdout).toMatch(
      /^Kill switch active, but without effect so far: nothing matches the scope agent:nobdy\.\n[\s\S]*agent:nobdy/,
    )
    expect(on.stdout).not.toContain('0 of 0')
    expect(await cli(['kill', 'off', '--scope', 'agent:nobdy'])).toMatchObject({ code: 0, stderr: '' })
    const claim = await cli(['kill', 'on', '--scope', 'claim:none'])
    expect(claim).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('No running pod or its claim is called claim:none'),
    })
    expect(claim.stdout).toMatch(
      /^Kill switch active, but without effect so far: nothing matches the scope claim:none/,
    )
    await cli(['kill', 'off', '--scope', 'claim:none'])
  })

  test('says that kill off released nothing where no kill switch had the scope', async () => {
    await cli(['kill', 'on', '--scope', 'agent:dev'])
    const lift = async (scope: string) => (await cli(['kill', 'off', '--scope', scope])).stdout
    expect(await lift('agent:nobody')).toMatch(
      /^No kill switch has the scope agent:nobody\. Nothing was changed\.\n[\s\S]*still active[\s\S]*agent:dev/,
    )
    expect(await lift('AGENT:dev')).toMatch(
      /^Kill switch lifted: 1 of 1 gateway acknowledged in [\s\S]*No kill switch is active\./,
    )
    expect(await lift('agent:dev')).toMatch(/^No kill switch has the scope agent:dev/)
  })

  test('lists the kill switches that remain after a lift', async () => {
    await cli(['kill', 'on', '--scope', 'connector:chat', '--reason', 'noise'])
    const lifted = await cli(['kill', 'off'])
    expect(lifted.stdout).toMatch(
      /^No kill switch has the scope all[\s\S]*still active[\s\S]*connector:chat .*noise/,
    )
    expect((await cli(['kill', 'off', '--scope', 'connector:chat'])).stdout).toContain(
      'No kill switch is active',
    )
  })

  test('exits with 1 when a policy fails its own test, and names the test', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'chaperone-policy-'))
    const file = join(folder, 'p.yaml')
    writeFileSync(file, POLICY('allow', 'deny'))
    const { code, stdout, stderr } = await cli(['policy', 'test', file])
    rmSync(folder, { recursive: true })
    expect(code).toBe(1)
    expect(stdout + stderr).toContain('closing is for people')
  })

  test('reads from the control plane which approver groups have members when it tests policies', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'chaperone-policy-'))
    const held = 'require_approval, approverGroups: [nightshift, dayshift]'
    writeFileSync(join(folder, 'p.yaml'), POLICY(held, 'requires_approval'))
    const invite = { action: 'invite', email: 'day@example.com', role: 'member' }
    const { body: invited } = await laptop.api('POST', '/api/dashboard/users', invite)
    const registered = await fetch(new URL('/api/auth/register', laptop.ready.base_url), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        ...{ email: invite.email, name: 'Day', password: 'a long password of nobody' },
        invite_token: invited['invite_token'],
      }),
    })
    const { user } = (await registered.json()) as { user: { id: string } }
    const groups = { action: 'set_groups', user_id: user.id, groups: ['dayshift'] }
    expect((await laptop.api('POST', '/api/dashboard/users', groups)).status).toBe(200)
    const check = (...options: string[]) => cli(['policy', 'test', join(folder, 'p.yaml'), ...options])
    const lenient = await check()
    const strict = await check('--strict')
    const given = await check('--strict', '--groups', 'nightshift,dayshift')
    rmSync(folder, { recursive: true })
    expect(lenient).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('No account is in the group "nightshift".'),
    })
    expect(lenient.stderr).not.toContain('dayshift')
    expect(strict).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('error: no-closing: No account is in the group "nightshift"'),
    })
    expect(given).toMatchObject({ code: 0, stderr: '' })
  })

  test('exits with 1 and the reason in the words of the server when it refuses', async () => {
    const { code, stderr } = await cli(['approvals', 'approve', 'apv_nothing'])
    expect(code).toBe(1)
    expect(stderr).toMatch(/There is no approval apv_nothing/)
    const withdrawn = await cli(['approvals', 'withdraw', 'apv_nothing'])
    expect(withdrawn).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/There is no approval apv_nothing/),
    })
  })

  test('exits with 3 and says how to start when nothing runs there', async () => {
    const { code, stderr } = await cli(['traffic'], { env: { CHAPERONE_URL: 'http://127.0.0.1:9' } })
    expect(code).toBe(3)
    expect(stderr).toContain('http://127.0.0.1:9')
  })
})
