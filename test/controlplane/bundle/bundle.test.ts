import { createHash } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { runCli } from '../../../controlplane/cli/cli.ts'
import { ManifestResource } from '../../../core/crd/schemas.ts'
import { eventually } from '../../support/eventually.ts'
import { OPERATOR_TOKEN, startTestInstallation, type TestInstallation } from '../routes/installation.ts'
import { at, type Call, caller, register } from '../routes/start.ts'

const POLICY = `scope: { actions: ["codehost.*"] }
rules:
  - name: no-deletes
    conditions: ['action.type == "codehost.repo.delete"']
    decision: deny
tests:
  - name: deletes are denied
    action: { type: codehost.repo.delete, resource: { provider: codehost } }
    expect: { outcome: deny, rule: no-deletes }
`
const FAILING = POLICY.replace('outcome: deny,', 'outcome: allow,')

let here: TestInstallation
let admin: Call

beforeAll(async () => {
  here = await startTestInstallation()
  admin = here.admin
})
afterAll(() => here?.[Symbol.asyncDispose]())

const bundle = (parts: Record<string, unknown>) => ({ version: '1.0', ...parts })
const eventsSince = (id: number) =>
  here.sql('select event_type, details from audit_events where id > $1 order by id', [id])
const lastEvent = async () => Number((await here.sql('select max(id) as id from audit_events'))[0]?.['id'])

describe('the export', () => {
  test('has the fields of the specification, is an attachment, holds no secret and is one audit event', async () => {
    const made = await admin('POST', '/api/dashboard/agents', {
      name: 'exported',
      runtime: 'python',
      environment: 'staging',
      capabilities: ['org:kill_switch'],
      metadata: { team: 'a' },
    })
    const key = at(made.body, 'api_key')
    await admin('PUT', '/api/dashboard/settings', { settings: { codehost_pat: 'ghp_canary_export' } })
    const before = await lastEvent()
    const answer = await admin('GET', '/api/dashboard/export')
    expect(answer.headers.get('content-disposition')).toMatch(/^attachment; filename="[^"]+\.json"$/)
    expect(answer.body).toMatchObject({
      version: '1.0',
      exportedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      organization: { name: 'Chaperone', plan: 'Enterprise' },
    })
    expect(at(answer.body, 'agents', 0)).toEqual({
      name: 'exported',
      runtime: 'python',
      environment: 'staging',
      status: 'active',
      capabilities: ['org:kill_switch'],
      metadata: { team: 'a' },
    })
    expect(at(answer.body, 'policies', 0)).toMatchObject({
      name: 'default-deny-destructive',
      policyYaml: expect.stringContaining('rules:'),
      priority: 12,
      enabled: true,
      tags: ['default'],
      version: 1,
    })
    for (const secret of [key, key.slice(0, 15), 'ghp_canary_export'])
      expect(answer.text).not.toContain(secret)
    expect(await eventsSince(before)).toEqual([
      {
        event_type: 'config.exported',
        details: {
          ...{ format: 'json', agents: 1, policies: 3 },
          actor: { kind: 'system', name: 'admin-token' },
        },
      },
    ])
  })

  test('goes into another installation and comes out the same', async () => {
    const exported = await admin('GET', '/api/dashboard/export')
    await using other = await startTestInstallation()
    const report = await other.admin('POST', '/api/dashboard/import', exported.body)
    expect(report.body).toMatchObject({ agents_imported: 1, policies_imported: 3, errors: [] })
    const again = await other.admin('GET', '/api/dashboard/export')
    expect(at(again.body, 'agents')).toEqual(at(exported.body, 'agents'))
    // The defaults were there already: imported policies are new entries beside them.
    expect(at<unknown[]>(again.body, 'policies')).toHaveLength(6)
  })
})

describe('the import', () => {
  test('stores valid items, reports invalid ones, and shows each new key once', async () => {
    const before = await lastEvent()
    const answer = await admin('POST', '/api/dashboard/import', {
      ...bundle({
        agents: [
          { name: 'in-one', runtime: 'go', environment: 'production', status: 'active', metadata: {} },
          { name: 'in-two', runtime: 'go', environment: 'staging', status: 'suspended', capabilities: ['x'] },
          { name: 'in-three', runtime: 'go', environment: 'staging', status: 'revoked' },
          { name: 'in-one', runtime: 'go', environment: 'production' },
          { name: 'bad:name', runtime: 'go' },
          'no object',
        ],
        policies: [
          { name: 'good', policyYaml: POLICY, priority: 7, enabled: true, tags: ['t'], version: 9 },
          { name: 'shadow', policyYaml: POLICY, enabled: false, mode: 'monitor', description: 'd' },
          { name: 'failing', policyYaml: FAILING, enabled: true },
          { name: 'broken', policyYaml: 'rules: [' },
          { name: 'odd', policyYaml: POLICY, colour: 'red' },
        ],
      }),
      exportedAt: '2026-01-01T00:00:00Z',
      organization: { name: 'Elsewhere', plan: 'Pro' },
    })
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({
      agents_imported: 3,
      policies_imported: 3,
      policies_disabled: ['failing'],
    })
    expect(at<object[]>(answer.body, 'errors')).toEqual([
      {
        kind: 'agent',
        name: 'in-one',
        error: expect.stringContaining('An agent named in-one already exists'),
      },
      { kind: 'agent', name: 'bad:name', error: expect.stringContaining('name: can contain only letters') },
      { kind: 'agent', name: '', error: 'body: must be an object, not a string' },
      { kind: 'policy', name: 'broken', error: expect.stringContaining('policyYaml: line 1') },
      { kind: 'policy', name: 'odd', error: 'colour: is not a known field' },
    ])
    const keys = at<{ name: string; api_key: string }[]>(answer.body, 'agent_keys')
    expect(keys.map(({ name }) => name)).toEqual(['in-one', 'in-two'])
    expect(keys[0]?.api_key).toMatch(/^svc_live_/)
    expect(keys[1]?.api_key).toMatch(/^svc_test_/)

    const agents = at<{ name: string; status: string }[]>(
      (await admin('GET', '/api/dashboard/agents')).body,
      'agents',
    )
    const statusOf = (name: string) =>
      agents.filter((agent) => agent.name === name).map(({ status }) => status)
    expect([statusOf('in-one'), statusOf('in-two'), statusOf('in-three')]).toEqual([
      ['active'],
      ['suspended'],
      ['revoked'],
    ])
    const list = await admin('GET', '/api/dashboard/policies')
    const policies = at<Record<string, unknown>[]>(list.body, 'policies')
    const policy = (name: string) => policies.find((row) => row['name'] === name)
    expect(policy('good')).toMatchObject({
      enabled: true,
      active: true,
      priority: 7,
      tags: ['t'],
      version: 1,
    })
    expect(policy('shadow')).toMatchObject({ enabled: false, mode: 'monitor', description: 'd' })
    expect(policy('failing')).toMatchObject({ enabled: false, active: false })
    expect(policy('broken')).toBeUndefined()

    const events = await eventsSince(before)
    expect(events.map((event) => event['event_type'])).toEqual([
      'agent.registered',
      'agent.registered',
      'agent.registered',
      'policy.created',
      'policy.created',
      'policy.created',
      'config.imported',
    ])
    expect(events.at(-1)?.['details']).toMatchObject({
      agents: 3,
      policies: 3,
      policies_disabled: ['failing'],
    })
    const dump = JSON.stringify(await here.sql('select * from audit_events'))
    for (const { api_key } of keys) expect(dump).not.toContain(api_key)
  })

  test('gives keys of which only the hash is kept', async () => {
    const answer = await admin('POST', '/api/dashboard/import', bundle({ agents: [{ name: 'keyed' }] }))
    const key = at(answer.body, 'agent_keys', 0, 'api_key')
    const [row] = await here.sql(
      "select encode(api_key_sha256, 'hex') as hash from agents where name = 'keyed'",
    )
    expect(row?.['hash']).toBe(createHash('sha256').update(key).digest('hex'))
    expect(JSON.stringify(await here.sql('select * from agents'))).not.toContain(key)
  })

  test('of nothing is nothing, said in one event', async () => {
    const before = await lastEvent()
    const answer = await admin('POST', '/api/dashboard/import', bundle({}))
    expect(answer.body).toEqual({
      agents_imported: 0,
      policies_imported: 0,
      errors: [],
      agent_keys: [],
      policies_disabled: [],
    })
    expect((await eventsSince(before)).map((event) => event['event_type'])).toEqual(['config.imported'])
  })

  test.each([
    [{}, 'version: is required'],
    [{ version: '2.0' }, /^version: /],
    [{ version: '1.0', agents: {} }, /^agents: /],
    [{ version: '1.0', gateways: [] }, 'gateways: is not a known field'],
  ])('refuses %j as a whole', async (body, details) => {
    const before = await lastEvent()
    const answer = await admin('POST', '/api/dashboard/import', body)
    expect(answer.status).toBe(400)
    expect(at(answer.body, 'details')).toMatch(details)
    expect(await lastEvent()).toBe(before)
  })

  test('takes bodies above a megabyte and none above ten', async () => {
    const metadata = { text: 'x'.repeat(100_000) }
    const agents = (count: number) =>
      Array.from({ length: count }, (_, index) => ({ name: `big-${index}`, metadata }))
    expect(await admin('POST', '/api/dashboard/import', bundle({ agents: agents(20) }))).toMatchObject({
      status: 200,
      body: { agents_imported: 20 },
    })
    expect((await admin('POST', '/api/dashboard/import', bundle({ agents: agents(110) }))).status).toBe(413)
  })

  test('previews each item as new, changed, same or invalid, and stores nothing', async () => {
    const exported = (await admin('GET', '/api/dashboard/export')).body
    const [agent] = at<{ name: string }[]>(exported, 'agents')
    const [policy] = at<{ name: string; policyYaml: string }[]>(exported, 'policies')
    const before = await lastEvent()
    const answer = await admin('POST', '/api/dashboard/import', {
      ...bundle({
        agents: [agent, { ...agent, runtime: 'another' }, { name: 'unseen' }],
        policies: [policy, { ...policy, priority: 99, policyYaml: POLICY }, { name: 'odd', colour: 'red' }],
      }),
      dry_run: true,
    })
    expect(answer.body).toEqual({
      ...{ agents_imported: 0, policies_imported: 0, errors: [], agent_keys: [], policies_disabled: [] },
      preview: [
        { kind: 'agent', name: agent?.name, state: 'same' },
        { kind: 'agent', name: agent?.name, state: 'changed', differs: ['runtime'] },
        { kind: 'agent', name: 'unseen', state: 'new' },
        { kind: 'policy', name: policy?.name, state: 'same' },
        { kind: 'policy', name: policy?.name, state: 'changed', differs: ['policyYaml', 'priority'] },
        { kind: 'policy', name: 'odd', state: 'invalid', error: expect.stringContaining('colour') },
      ],
    })
    expect(await lastEvent()).toBe(before)
  })

  test('leaves out items that exist in the same form with skip_same, including default policies', async () => {
    await using other = await startTestInstallation()
    const exported = (await other.admin('GET', '/api/dashboard/export')).body
    const policies = at<{ name: string }[]>(exported, 'policies')
    const body = {
      ...bundle({ policies: [...policies, { name: 'added', policyYaml: POLICY }] }),
      skip_same: true,
    }
    const first = await other.admin('POST', '/api/dashboard/import', body)
    const names = policies.map(({ name }) => name)
    expect(first.body).toEqual({
      ...{ agents_imported: 0, policies_imported: 1, errors: [], agent_keys: [], policies_disabled: [] },
      skipped: { agents: [], policies: names },
    })
    const again = await other.admin('GET', '/api/dashboard/export')
    expect(at<{ enabled: boolean }[]>(again.body, 'policies').filter(({ enabled }) => enabled)).toHaveLength(
      names.length + 1,
    )
    const second = await other.admin('POST', '/api/dashboard/import', {
      ...Object(again.body),
      skip_same: true,
    })
    expect(second.body).toMatchObject({
      policies_imported: 0,
      skipped: { policies: expect.arrayContaining(names) },
    })
    expect(at((await other.admin('GET', '/api/dashboard/export')).body, 'policies')).toEqual(
      at(again.body, 'policies'),
    )
  })
})

describe('the command line', () => {
  test('prints what of a bundle is new, and imports without what is the same', async () => {
    await using other = await startTestInstallation()
    const home = await mkdtemp(join(tmpdir(), 'chaperone-import-'))
    const cli = async (...args: readonly string[]) => {
      const out: string[] = []
      const err: string[] = []
      const code = await runCli(args, {
        env: { HOME: home, CHAPERONE_URL: other.plane.url, CHAPERONE_TOKEN: other.adminToken },
        cwd: home,
        terminal: {
          print: (line) => void out.push(line),
          warn: (line) => void err.push(line),
          isInteractive: false,
        },
      })
      return { code, out: out.join('\n'), err: err.join('\n') }
    }
    const printed = await cli('export', '--bundle')
    const exported = JSON.parse(printed.out) as { policies: { name: string }[] }
    const file = { ...exported, agents: [{ name: 'carried' }] }
    await writeFile(join(home, 'bundle.json'), JSON.stringify(file))

    const preview = await cli('import', 'bundle.json', '--dry-run')
    expect(preview).toMatchObject({ code: 0, out: expect.stringMatching(/agent +carried +new/) })
    expect(preview.out).toMatch(/policy +default-deny-destructive +same/)

    const done = await cli('import', 'bundle.json')
    expect(done.code).toBe(0)
    expect(done.out).toMatch(
      /^Imported: agents 1, policies 0\. Left out, because they exist in the same form: 3\.\nKey of carried, .*: svc_/,
    )
    expect(await cli('import', 'bundle.json')).toMatchObject({
      code: 0,
      out: expect.stringContaining('in the same form: 4'),
    })
    await writeFile(
      join(home, 'bundle.json'),
      JSON.stringify({ ...file, agents: [{ name: 'carried', runtime: 'go' }] }),
    )
    expect(await cli('import', 'bundle.json')).toMatchObject({
      ...{ code: 1, err: expect.stringContaining('An agent named carried already exists') },
    })

    await writeFile(join(home, 'no.json'), 'x')
    expect(await cli('import', 'no.json')).toMatchObject({
      code: 2,
      err: expect.stringContaining('is not a bundle'),
    })
    expect(await cli('import', 'gone.json')).toMatchObject({
      code: 1,
      err: expect.not.stringContaining(' at '),
    })
    await rm(home, { recursive: true, force: true })
  })
})

describe('the export as manifests', () => {
  test('is what a manifests folder takes, without credentials', async () => {
    await admin('POST', '/api/dashboard/setup', {
      agent: { name: 'Builder One', runtime: 'x', environment: 'production' },
      connectors: [
        { type: 'codehost', token: 'ghp_canary_manifests', accessRule: 'read_only' },
        { type: 'generic', token: 'tok_canary', domains: ['api.example.com'], accessRule: 'allow_all' },
      ],
    })
    const policyYaml = 'rules: [{ name: a, decision: deny, conditions: [\'action.type == "x.y"\'] }]\n'
    await admin('POST', '/api/dashboard/policies', { name: 'Exported', policyYaml })
    const answer = await admin('GET', '/api/dashboard/export?format=manifests')
    expect(answer.headers.get('content-type')).toMatch(/^application\/yaml/)
    expect(answer.text).not.toContain('canary')
    const documents = parseAllDocuments(answer.text).map((document) =>
      ManifestResource.parse(document.toJS()),
    )
    const kinds = new Set(documents.map(({ kind }) => kind))
    expect([...kinds]).toEqual(['Gateway', 'Connector', 'Permission', 'Policy'])
    expect(documents.filter(({ kind }) => kind === 'Connector').map(({ metadata }) => metadata.name)).toEqual(
      ['codehost', 'generic'],
    )
    const permission = documents.find(({ kind }) => kind === 'Permission')
    expect(permission).toMatchObject({
      metadata: { namespace: 'default', name: 'local-builder-one' },
      spec: { gatewayRefs: [{ name: 'local' }], agents: ['Builder One'] },
    })
  })

  test('has the Permissions of a guest, for an admin of its namespace alone', async () => {
    await using fresh = await startTestInstallation()
    const operator = caller(fresh.plane.url, { authorization: `Bearer ${OPERATOR_TOKEN}` })
    const apply = async (kind: string, namespace: string, name: string, spec: object) => {
      const { body } = await operator('PUT', `/api/operator/objects/${kind}/${namespace}/${name}`, {
        ...{ uid: `${kind}-${name}`, generation: 1, source: 'kubernetes', managed_by: name },
        resource: { apiVersion: 'chaperone.dev/v1alpha1', kind, metadata: { name, namespace }, spec },
      })
      expect(body).toMatchObject({ accepted: true })
    }
    await apply('Gateway', 'platform', 'shared', { allowedNamespaces: { permissions: { from: 'All' } } })
    await apply('Gateway', 'platform', 'secret', {})
    const rules = [{ connectorType: 'codehost', actionPattern: 'codehost.*', decision: 'deny' }]
    const gatewayRefs = [{ name: 'shared', namespace: 'platform' }]
    await apply('Permission', 'guest', 'rules', { gatewayRefs, agents: ['bot'], rules })
    await register(fresh.plane.call, 'owner@example.com')
    const email = 'guest@example.com'
    const invited = await fresh.admin('POST', '/api/dashboard/users', {
      action: 'invite',
      email,
      role: 'admin',
    })
    await register(fresh.plane.call, email, { invite_token: at(invited.body, 'invite_token') })
    await fresh.sql("update users set namespaces = '{guest}' where email = $1", [email])
    const guest = await fresh.plane.signIn(email)
    const { text } = await guest('GET', '/api/dashboard/export?format=manifests')
    const documents = parseAllDocuments(text).map((document) => document.toJS() as unknown)
    expect(documents).toEqual([
      {
        ...{ apiVersion: 'chaperone.dev/v1alpha1', kind: 'Permission' },
        metadata: { name: 'rules', namespace: 'guest' },
        spec: { gatewayRefs, agents: ['guest/bot'], rules },
      },
    ])
  })

  test('applied to an empty installation gives the same verdicts', async () => {
    const { text } = await admin('GET', '/api/dashboard/export?format=manifests')
    await using fresh = await startTestInstallation()
    const operator = caller(fresh.plane.url, { authorization: `Bearer ${OPERATOR_TOKEN}` })
    for (const document of parseAllDocuments(text)) {
      const resource = ManifestResource.parse(document.toJS())
      const { name, namespace } = resource.metadata
      const answer = await operator('PUT', `/api/operator/objects/${resource.kind}/${namespace}/${name}`, {
        ...{ uid: name, generation: 1, source: 'file', managed_by: 'export.yaml', resource },
        ...(resource.kind === 'Connector' ? { credential: 'anything' } : {}),
      })
      expect(answer.body, JSON.stringify(resource.metadata)).toMatchObject({ accepted: true })
    }
    const version = Number((await fresh.sql('select version from config_version'))[0]?.['version'])
    const explained = (call: Call, method: string, url: string, agent: string) =>
      call('GET', `/api/dashboard/explain?${new URLSearchParams({ method, url, agent })}`)
    await eventually('the newest configuration', async () => {
      const { body } = await explained(fresh.admin, 'GET', 'https://api.github.com/user', 'x')
      return at<number>(body, 'snapshot_version') === version ? true : null
    })
    const seen = new Set<string>()
    for (const agent of ['Builder One', 'somebody else'])
      for (const [method, url] of [
        ['GET', 'https://api.github.com/repos/a/b/issues'],
        ['DELETE', 'https://api.github.com/repos/a/b'],
        ['POST', 'https://api.example.com/x'],
      ] as const) {
        const was = await explained(admin, method, url, agent)
        const is = await explained(fresh.admin, method, url, agent)
        const verdict = at(was.body, 'decision', 'verdict')
        expect(at(is.body, 'decision', 'verdict'), `${agent} ${method} ${url}`).toBe(verdict)
        seen.add(verdict)
      }
    expect([...seen].toSorted()).toEqual(['allow', 'deny'])
  })
})
