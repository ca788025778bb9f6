import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { OPERATOR_TOKEN, startTestInstallation, type TestInstallation } from '../routes/installation.ts'
import { at, caller } from '../routes/start.ts'

const HOST = 'api.github.com'
const RULES = ['codehost', 'generic'].map((connectorType) => ({
  ...{ connectorType, actionPattern: `${connectorType}.*`, decision: 'allow' },
}))
const CREDENTIAL = { credential: { secretRef: { name: 'token', key: 'token' } } }
const CODEHOST = { type: 'codehost', ...CREDENTIAL }
const GENERIC = { type: 'generic', domains: [HOST] }

/** What tenants do to get a deletion past the policies of the platform team, each in a namespace of its own. */
const TENANTS: Readonly<Record<string, { readonly gateway?: object; readonly connector?: object }>> = {
  plain: { connector: CODEHOST },
  renamed: { connector: { ...GENERIC, ...CREDENTIAL } },
  declared: {
    connector: {
      ...{ ...GENERIC, ...CREDENTIAL },
      actions: [
        {
          ...{ method: 'DELETE', path: '/repos/{owner}/{repo}', action: 'generic.page.read' },
          ...{ effect: 'read', risk: 'low' },
        },
      ],
    },
  },
  unread: { connector: { ...GENERIC, tls: { mode: 'passthrough' } } },
  listed: { gateway: { egress: { allowedHosts: [HOST] } } },
  mild: { gateway: { enforcementLevel: 'monitor' }, connector: CODEHOST },
}

let here: TestInstallation

beforeAll(async () => {
  here = await startTestInstallation({ PLATFORM_NAMESPACES: 'security' })
  for (const [namespace, { gateway = {}, connector }] of Object.entries(TENANTS)) {
    await apply('Gateway', namespace, 'main', gateway)
    if (connector !== undefined) await apply('Connector', namespace, 'own', connector)
    await apply('Permission', namespace, 'all', { gatewayRefs: [{ name: 'main' }], rules: RULES })
  }
})
afterAll(() => here?.[Symbol.asyncDispose]())

async function apply(kind: string, namespace: string, name: string, spec: object): Promise<void> {
  const operator = caller(here.plane.url, { authorization: `Bearer ${OPERATOR_TOKEN}` })
  const { text, body } = await operator('PUT', `/api/operator/objects/${kind}/${namespace}/${name}`, {
    ...{ uid: `${kind}-${namespace}-${name}`, generation: 1, source: 'kubernetes', managed_by: 'kubernetes' },
    resource: { apiVersion: 'chaperone.dev/v1alpha1', kind, metadata: { name, namespace }, spec },
    ...('credential' in spec ? { credential: 'secret' } : {}),
  })
  if (body['accepted'] !== true) throw new Error(text)
}

/** Of the deletion of a repository, by tenant. */
async function decisions(): Promise<Record<string, string>> {
  const [row] = await here.sql('select version from config_version')
  const found: Record<string, string> = {}
  for (const namespace of Object.keys(TENANTS)) {
    const query = new URLSearchParams({
      ...{ method: 'DELETE', url: `https://${HOST}/repos/acme/site`, agent: `${namespace}/bot` },
      gateway: `${namespace}/main`,
    })
    found[namespace] = await eventually('the newest configuration', async () => {
      const { body } = await here.admin('GET', `/api/dashboard/explain?${query}`)
      const isNewest = at<number>(body, 'snapshot_version') === Number(row?.['version'])
      return isNewest ? `${at(body, 'decision', 'verdict')} by ${at(body, 'decision', 'source')}` : null
    })
  }
  return found
}

const NO_POLICY = { listed: 'allow by default', mild: 'allow by level' }

test('a policy on the name of an action is for Connectors of that type, which the tenant chooses', async () => {
  await apply('Policy', 'security', 'names', {
    scope: { actions: ['codehost.repo.delete'] },
    rules: [{ name: 'r', decision: 'deny' }],
  })
  expect(await decisions()).toEqual({
    ...{ plain: 'deny by policy', ...NO_POLICY },
    ...{ renamed: 'allow by permission', declared: 'allow by permission', unread: 'allow by permission' },
  })
})

test('a policy on the host is for Connectors of every type; a host without Connector and the level monitor have none', async () => {
  const conditions = [
    `has(request.host) && request.host == "${HOST}"`,
    '!(request.method in ["GET", "HEAD"])',
  ]
  await apply('Policy', 'security', 'hosts', { rules: [{ name: 'r', conditions, decision: 'deny' }] })
  expect(await decisions()).toEqual({
    ...{ plain: 'deny by policy', ...NO_POLICY },
    ...{ renamed: 'deny by policy', declared: 'deny by policy', unread: 'deny by policy' },
  })
})
