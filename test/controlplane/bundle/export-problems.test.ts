import { afterEach, describe, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { startTestInstallation, type TestInstallation } from '../routes/installation.ts'
import { at } from '../routes/start.ts'
import { applyCluster, applyFolder, manifestsIn, sendObjects } from './folder.ts'

const BROKEN = 'action.efect == "write"'
const DENY_WRITES = `rules: [{ name: hold, conditions: ['action.effect == "write"'], decision: deny }]\n`
const CLUSTER = { PLATFORM_NAMESPACES: 'chaperone-system,security' }

const started: TestInstallation[] = []
afterEach(async () => {
  for (const each of started.splice(0)) await each[Symbol.asyncDispose]()
})
async function start(env: Record<string, string> = {}): Promise<TestInstallation> {
  const installation = await startTestInstallation(env)
  started.push(installation)
  return installation
}

const exported = async (where: TestInstallation) =>
  (await where.admin('GET', '/api/dashboard/export?format=manifests')).text
const names = (text: string, kind: string) =>
  manifestsIn(text)
    .filter((one) => one.kind === kind)
    .map(
      ({ metadata, spec }) =>
        `${metadata.namespace}/${metadata.name}${spec['mode'] === 'disabled' ? ' off' : ''}`,
    )
    .toSorted()

async function must(where: TestInstallation, method: string, path: string, body?: unknown) {
  const answer = await where.admin(method, `/api/dashboard/${path}`, body)
  expect(answer.status, `${method} ${path}: ${answer.text}`).toBe(200)
  return answer.body
}

async function policyNamed(where: TestInstallation, wanted: string): Promise<{ id: string }> {
  const rows = at<{ id: string; name: string }[]>(await must(where, 'GET', 'policies'), 'policies')
  return rows.find(({ name }) => name === wanted) ?? { id: 'none' }
}

async function verdict(where: TestInstallation, method: string): Promise<unknown> {
  const query = new URLSearchParams({ method, url: 'https://api.example.com/x', agent: 'bot' })
  const version = Number((await where.sql('select version from config_version'))[0]?.['version'])
  return eventually('the newest configuration', async () => {
    const { body } = await where.admin('GET', `/api/dashboard/explain?${query}`)
    return at<number>(body, 'snapshot_version') === version ? at(body, 'decision', 'verdict') : null
  })
}

const policyOf = (namespace: string, name: string, spec: object) => ({
  ...{ uid: `${namespace}/${name}`, generation: 1, source: 'kubernetes', managed_by: name },
  resource: {
    apiVersion: 'chaperone.dev/v1alpha1',
    kind: 'Policy',
    metadata: { name, namespace },
    spec,
  },
})
const gatewayOf = (namespace: string) => ({
  ...policyOf(namespace, 'edge', {}),
  resource: {
    apiVersion: 'chaperone.dev/v1alpha1',
    kind: 'Gateway',
    metadata: { name: 'edge', namespace },
    spec: {},
  },
})
const ALLOW = { rules: [{ name: 'a', decision: 'allow' }] }

describe('a default policy that was removed', () => {
  const NAME = 'default-deny-destructive'
  const remove = async (where: TestInstallation) =>
    must(where, 'DELETE', `policies?policy_id=${(await policyNamed(where, NAME)).id}`)

  test('stays removed where a tenant has a policy of that name', async () => {
    const here = await start(CLUSTER)
    await sendObjects(here, 'kubernetes', [gatewayOf('team'), policyOf('team', NAME, ALLOW)])
    await remove(here)
    expect(names(await exported(here), 'Policy')).toEqual([`chaperone-system/${NAME} off`, `team/${NAME}`])
  })

  test.each(['chaperone-system', 'security'])(
    'is replaced by the manifest of that name in %s',
    async (namespace) => {
      const here = await start(CLUSTER)
      await sendObjects(here, 'kubernetes', [policyOf(namespace, NAME, ALLOW)])
      await remove(here)
      expect(names(await exported(here), 'Policy')).toEqual([`${namespace}/${NAME}`])
    },
  )

  test('stays removed where it was changed to serve some Gateways only', async () => {
    const here = await start(CLUSTER)
    await sendObjects(here, 'kubernetes', [gatewayOf('team')])
    await remove(here)
    const bound = { name: NAME, policyYaml: DENY_WRITES, gateways: ['team/edge'] }
    await must(here, 'POST', 'import', { version: '1.0', policies: [bound] })
    expect(names(await exported(here), 'Policy')).toEqual(
      expect.arrayContaining([`chaperone-system/${NAME} off`, `team/${NAME}`]),
    )
  })

  test('is off in a manifests folder, whatever the namespace of a policy of that name', async () => {
    const here = await start()
    await remove(here)
    const text = await exported(here)
    expect(names(text, 'Policy')).toEqual([`default/${NAME} off`])
    const there = await start()
    expect((await applyFolder(there, text)).every(({ accepted }) => accepted)).toBe(true)
    expect(names(await exported(there), 'Policy')).toEqual([`default/${NAME} off`])
  })
})

describe('a policy text that is not as a manifest has to be', () => {
  async function withConnector(where: TestInstallation) {
    await must(where, 'POST', 'connectors', {
      type: 'generic',
      token: 'canary',
      domains: ['api.example.com'],
    })
    const rule = { gateway_name: 'local', connector_type: 'generic', action_pattern: 'generic.*' }
    await must(where, 'POST', 'permissions', { ...rule, decision: 'allow', agent: '*' })
  }

  test('because it no longer compiles is exported with the reason, and denies where it is applied', async () => {
    const here = await start()
    await withConnector(here)
    await must(here, 'POST', 'policies', { name: 'brake', policyYaml: DENY_WRITES })
    const old = DENY_WRITES.replace('action.effect == "write"', BROKEN)
    await here.sql("update policies set policy_yaml = $1, active_yaml = $1 where name = 'brake'", [old])
    await here.sql("select pg_notify('chaperone', 'x')")
    const text = await exported(here)
    expect(names(text, 'Policy')).toContain('default/brake')
    expect(text).toMatch(/^# Refused when applied: Policy default\/brake: .*efect.*$/m)
    const there = await start()
    const replies = await applyFolder(there, text)
    expect(replies.filter(({ accepted }) => !accepted).map((reply) => reply.in_force)).toEqual(['denied'])
    expect(await verdict(there, 'POST')).toBe('deny')
  })

  test.each([
    ['a condition that does not compile', { rules: [{ name: 'a', conditions: [BROKEN], decision: 'deny' }] }],
    ['a field that is not known', { rulez: [] }],
    ['no mapping', 'text: ['],
    [
      'failing tests',
      {
        ...ALLOW,
        tests: [
          { name: 't', action: { type: 'x.y', resource: { provider: 'x' } }, expect: { outcome: 'deny' } },
        ],
      },
    ],
  ])('and never was (%s) is exported with the reason', async (_name, spec) => {
    const here = await start(CLUSTER)
    await sendObjects(here, 'kubernetes', [policyOf('chaperone-system', 'brake', spec as object)])
    expect(await here.sql('select name from policies where invalid is not null')).toHaveLength(1)
    const text = await exported(here)
    expect(text).toMatch(/^# Refused when applied: Policy chaperone-system\/brake: ./m)
    expect(names(text, 'Policy')).toEqual(['chaperone-system/brake'])
    const there = await start(CLUSTER)
    const replies = await applyCluster(there, text)
    expect(replies.filter(({ accepted }) => !accepted).map((reply) => reply.in_force)).toEqual(['denied'])
  })

  test('because it is not in force is named and stays a comment', async () => {
    const here = await start()
    const failing = `${DENY_WRITES}tests:\n  - { name: t, action: { type: x.y, resource: { provider: x } }, expect: { outcome: allow } }\n`
    await must(here, 'POST', 'import', { version: '1.0', policies: [{ name: 'idle', policyYaml: failing }] })
    const text = await exported(here)
    expect(text).toMatch(/^# Not exported: Policy default\/idle: .*not in force/m)
    expect(text).toMatch(/^# *kind: Policy$/m)
    expect(names(text, 'Policy')).not.toContain('default/idle')
  })
})

describe('a permission for an agent without a namespace', () => {
  const RULE = { connector_type: 'generic', action_pattern: 'generic.*', decision: 'deny' }

  test('is not exported from a cluster, where a manifest would mean another agent', async () => {
    const here = await start(CLUSTER)
    await sendObjects(here, 'kubernetes', [gatewayOf('team')])
    for (const agent of ['team/bot', 'submitter', '*'])
      await must(here, 'POST', 'permissions', { ...RULE, gateway_name: 'team/edge', agent })
    const text = await exported(here)
    const permissions = manifestsIn(text).filter(({ kind }) => kind === 'Permission')
    expect(permissions.flatMap(({ spec }) => spec['agents'])).toEqual(
      expect.arrayContaining(['team/bot', '*']),
    )
    expect(JSON.stringify(permissions)).not.toContain('submitter')
    expect(text).toMatch(/^# Not exported: Permission team\/edge-submitter: .*team\/submitter/m)
    const there = await start(CLUSTER)
    expect((await applyCluster(there, text)).every(({ accepted }) => accepted)).toBe(true)
    const rows = await there.sql('select distinct agent from permissions order by 1')
    expect(rows.map(({ agent }) => agent)).toEqual(['*', 'team/bot'])
  })

  test('means the same agent in a manifests folder', async () => {
    const here = await start()
    await must(here, 'POST', 'permissions', { ...RULE, gateway_name: 'local', agent: 'bot' })
    const text = await exported(here)
    expect(text).not.toMatch(/^# Not exported/m)
    const there = await start()
    await applyFolder(there, text)
    expect(await there.sql('select agent from permissions')).toEqual([{ agent: 'bot' }])
  })
})

test('a policy that allows is exported from a cluster with a warning: there its tier only tightens', async () => {
  const here = await start(CLUSTER)
  await must(here, 'POST', 'policies', {
    name: 'grants',
    policyYaml: `rules: [{ name: a, conditions: ['action.type == "x.y"'], decision: allow }]\n`,
  })
  await must(here, 'POST', 'policies', { name: 'brake', policyYaml: DENY_WRITES })
  const text = await exported(here)
  expect(text).toMatch(/^# Stricter when applied: Policy chaperone-system\/grants: ./m)
  expect(text.match(/^# Stricter/gm)).toHaveLength(1)
})
