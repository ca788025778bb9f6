import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bumpVersion } from '../../../controlplane/db/config-version.ts'
import { listConnectors } from '../../../controlplane/features/connectors/rows.ts'
import { sourceHash } from '../../../controlplane/features/credentials/rows.ts'
import type { ClusterOperator } from '../../../operator/cluster/cluster-operator.ts'
import { eventually } from '../../support/eventually.ts'
import { KUBE_ASSETS_HINT, kubeAssets } from '../../support/kube-api-server.ts'
import {
  type ClusterWorld,
  conditions,
  runGateway,
  startClusterWorld,
  statusOf,
  untilConditions,
} from './world.ts'

const RULE = { connectorType: 'codehost', actionPattern: 'codehost.pr.*', decision: 'allow' }
const SECRETS = { base: '/api/v1', plural: 'secrets' }

describe.skipIf(kubeAssets() === null)(`the operator on a real API server (${KUBE_ASSETS_HINT})`, () => {
  let world: ClusterWorld
  let operator: ClusterOperator
  beforeAll(async () => {
    world = await startClusterWorld()
    for (const name of ['team', 'tenant']) await world.cluster.namespace(name)
    operator = await world.operator()
  })
  afterAll(async () => world?.[Symbol.asyncDispose]())

  const secret = (name: string, token: string) => ({
    ...{ apiVersion: 'v1', kind: 'Secret', metadata: { name } },
    data: { token: Buffer.from(token).toString('base64') },
  })
  const credentials = async (): Promise<unknown[]> => {
    const { rows } = await world.replica.db.query<{ name: string; credential: unknown }>(
      'select name, credential from connectors order by name',
    )
    return rows
  }
  const compared = async (times: number) => {
    const before = world.replica.sweeps()
    await eventually(`${times} comparisons`, () => (world.replica.sweeps() >= before + times ? true : null))
  }
  const desired = async (path: string) =>
    (await world.replica.operator('GET', `/api/operator/objects/${path}`)).body

  test('pushes all four kinds and writes the result into their status', async () => {
    const { cluster } = world
    await cluster.createRaw(SECRETS, 'team', secret('codehost', 'ghp_one'))
    await cluster.create('Gateway', 'team', 'prod', {})
    await cluster.create('Connector', 'team', 'codehost', {
      type: 'codehost',
      credential: { secretRef: { name: 'codehost' } },
    })
    await cluster.create('Permission', 'team', 'prs', { gatewayRefs: [{ name: 'prod' }], rules: [RULE] })
    await cluster.create('Policy', 'team', 'careful', {
      rules: [
        { name: 'no-deletes', conditions: ['action.type == "codehost.repo.delete"'], decision: 'deny' },
      ],
      tests: [
        {
          name: 'deleting is denied',
          action: { type: 'codehost.repo.delete', resource: { provider: 'codehost' } },
          expect: { outcome: 'deny' },
        },
      ],
    })
    const all = [
      'Accepted=True/Accepted',
      'Programmed=True/Programmed',
      'Ready=True/Ready',
      'ResolvedRefs=True/ResolvedRefs',
    ]
    const gateway = await untilConditions(cluster, ['Gateway', 'team', 'prod'], all)
    expect(statusOf(gateway)).toMatchObject({
      observedGeneration: 1,
      pods: { governed: 0, ready: 0 },
      gateways: { connected: 0, current: 0 },
    })
    const connector = await untilConditions(cluster, ['Connector', 'team', 'codehost'], all)
    expect(statusOf(connector)['domains']).toContain('api.github.com')
    const permission = await untilConditions(cluster, ['Permission', 'team', 'prs'], all)
    expect(statusOf(permission)['rules']).toBe(1)
    const policy = await untilConditions(cluster, ['Policy', 'team', 'careful'], all)
    expect(statusOf(policy)['tests']).toEqual({ passed: 1, total: 1 })
    expect(await desired('Permission/team/prs')).toMatchObject({ accepted: true, gateways: ['team/prod'] })
  })

  test('states in the Connector that its credential could not be refreshed, until it is', async () => {
    const { cluster, replica } = world
    await cluster.createRaw(SECRETS, 'team', secret('minting', 'client-secret'))
    const oauth2 = { tokenUrl: 'https://login.example.com/token', clientId: 'a' }
    const credential = { secretRef: { name: 'minting' }, oauth2 }
    const spec = { type: 'generic', domains: ['minting.test'], credential }
    await cluster.create('Connector', 'team', 'minting', spec)
    const at = ['Connector', 'team', 'minting'] as const
    await untilConditions(cluster, [...at], ['Ready=True/Ready', 'Degraded=False/AsExpected'])
    const row = (await listConnectors(replica.db)).find(({ name }) => name === 'team/minting')
    if (row === undefined) throw new Error('the Connector is not in force')
    const error = 'The token endpoint login.example.com refused to issue a token: invalid_client.'
    const hash = sourceHash(world.control.keyring, row.spec.credential, 'client-secret')
    await replica.db.tx(async (q) => {
      const failed = `insert into minted_credentials (connector_id, org_id, source_hash, error, failures) values ($1, $2, $3, $4, 1)`
      await q.query(failed, [row.id, row.orgId, hash, error])
      await bumpVersion(q)
    })
    const degraded = await untilConditions(cluster, [...at], ['Degraded=True/CredentialSourceFailed'])
    expect(JSON.stringify(statusOf(degraded))).toContain(error)
    expect(conditions(degraded)).toContain('Ready=True/Ready')
    await replica.db.tx(async (q) => {
      await q.query('update minted_credentials set error = null', [])
      await bumpVersion(q)
    })
    await untilConditions(cluster, [...at], ['Degraded=False/AsExpected'])
  })

  test('counts gateway processes on the Gateway alone, and stays Ready while one starts', async () => {
    const { cluster, replica } = world
    const enrolled = await replica.enrol('team/prod')
    const first = await runGateway(replica, enrolled, 'proc_first')
    const counts = async () => statusOf(await cluster.get('Gateway', 'team', 'prod'))['gateways']
    const counted = (connected: number, current: number) =>
      eventually(`${current} of ${connected} are current`, async () => {
        const { connected: are, current: have } = (await counts()) as Record<string, number>
        return are === connected && have === current ? true : null
      })
    await counted(1, 1)
    const before = await world.writes()
    const { openStream } = await import('../../controlplane/sync/harness.ts')
    const silent = await openStream(replica, enrolled, { processId: 'proc_silent' })
    await counted(2, 1)
    const gateway = await cluster.get('Gateway', 'team', 'prod')
    expect(conditions(gateway)).toEqual(
      expect.arrayContaining(['Programmed=True/Programmed', 'Ready=True/Ready']),
    )
    silent.close()
    await counted(1, 1)
    const writes = (await world.writes()).slice(before.length)
    expect(new Set(writes)).toEqual(new Set(['patch gateways/status team/prod']))
    await first.close()
    await counted(0, 0)
  })

  test('writes nothing in a steady state', async () => {
    await compared(3)
    const before = await world.writes()
    expect(before.length).toBeGreaterThan(3)
    // Sweeps, polls, and a second operator that takes over and reconciles every object.
    await operator[Symbol.asyncDispose]()
    operator = await world.operator()
    await eventually('the second one leads', () => (operator.isLeader() ? true : null))
    await compared(3)
    expect((await world.writes()).slice(before.length)).toEqual([])
  })

  test('brings a changed Secret to the gateways', async () => {
    const before = JSON.stringify(await credentials())
    const enrolled = await world.replica.enrol('team/prod')
    const gateway = await runGateway(world.replica, enrolled, 'proc_rotated')
    const newest = () => {
      const versions = gateway.stream.messages.flatMap((each) =>
        each.type === 'sections' ? [each.version] : [],
      )
      return versions.at(-1) ?? 0
    }
    const known = await eventually('it has its rules', () => newest() || null)
    await world.cluster.patch('Secret', 'team', 'codehost', { data: secret('x', 'ghp_two').data })
    await eventually('the credential changed', async () =>
      JSON.stringify(await credentials()) === before ? null : true,
    )
    await eventually('the gateway receives the configuration', () => (newest() > known ? true : null))
    await gateway.close()
  })

  test('names a missing Secret or key, and warns that requests are refused without it', async () => {
    const { cluster } = world
    await cluster.create('Connector', 'team', 'payments', {
      type: 'payments',
      credential: { secretRef: { name: 'pay', key: 'api' } },
    })
    const place = ['Connector', 'team', 'payments'] as const
    await untilConditions(cluster, place, [
      'ResolvedRefs=False/SecretNotFound',
      'Ready=False/RefsNotResolved',
    ])
    await cluster.createRaw(SECRETS, 'team', secret('pay', 'x'))
    await untilConditions(cluster, place, ['ResolvedRefs=False/SecretKeyNotFound'])
    await cluster.patch('Secret', 'team', 'pay', { data: { api: Buffer.from('sk').toString('base64') } })
    await untilConditions(cluster, place, ['ResolvedRefs=True/ResolvedRefs', 'Ready=True/Ready'])
  })

  test('never reads a Secret of another namespace', async () => {
    const { cluster } = world
    await cluster.createRaw(SECRETS, 'tenant', secret('theirs', 'stolen'))
    const named = cluster.create('Connector', 'team', 'thief', {
      type: 'chat',
      credential: { secretRef: { name: 'tenant/theirs' } },
    })
    await expect(named).rejects.toThrow('spec.credential.secretRef.name')
    await cluster.create('Connector', 'team', 'thief', {
      type: 'chat',
      credential: { secretRef: { name: 'theirs' } },
    })
    await untilConditions(cluster, ['Connector', 'team', 'thief'], ['ResolvedRefs=False/SecretNotFound'])
    expect(await credentials()).toContainEqual({ name: 'team/thief', credential: null })
  })

  test("gives a tenant's Permission no effect on a foreign Gateway until that admits its namespace", async () => {
    const { cluster, replica } = world
    await cluster.create('Permission', 'tenant', 'grab', {
      gatewayRefs: [{ name: 'prod', namespace: 'team' }],
      rules: [RULE],
    })
    const place = ['Permission', 'tenant', 'grab'] as const
    const refused = await untilConditions(cluster, place, [
      'ResolvedRefs=False/NamespaceNotAllowed',
      'Accepted=False/RefsNotResolved',
      'Ready=False/RefsNotResolved',
    ])
    expect(statusOf(refused).conditions?.[0]?.message).toContain('spec.allowedNamespaces.permissions')
    const rows = async () =>
      (await replica.db.query("select id from permissions where owner = 'Permission/tenant/grab'")).rowCount
    expect(await rows()).toBe(0)
    await cluster.patch('Gateway', 'team', 'prod', {
      spec: { allowedNamespaces: { permissions: { from: 'Selector', names: ['tenant'] } } },
    })
    await untilConditions(cluster, place, ['ResolvedRefs=True/ResolvedRefs', 'Accepted=True/Accepted'])
    expect(await rows()).toBe(1)
    await cluster.patch('Gateway', 'team', 'prod', { spec: { allowedNamespaces: null } })
    await untilConditions(cluster, place, ['ResolvedRefs=False/NamespaceNotAllowed'])
    expect(await rows()).toBe(0)
  })

  test('binds objects by the labels of their namespace, and follows label changes', async () => {
    const { cluster, replica } = world
    const selector = { matchExpressions: [{ key: 'tier', operator: 'In', values: ['trusted'] }] }
    await cluster.patch('Gateway', 'team', 'prod', {
      spec: { allowedNamespaces: { permissions: { from: 'Selector', selector } } },
    })
    const place = ['Permission', 'tenant', 'grab'] as const
    const rows = async () =>
      (await replica.db.query("select id from permissions where owner = 'Permission/tenant/grab'")).rowCount
    expect(await rows()).toBe(0)
    await cluster.label('tenant', { tier: 'trusted' })
    await untilConditions(cluster, place, ['ResolvedRefs=True/ResolvedRefs', 'Accepted=True/Accepted'])
    expect(await rows()).toBe(1)
    await cluster.label('tenant', { tier: null })
    await untilConditions(cluster, place, ['ResolvedRefs=False/NamespaceNotAllowed'])
    expect(await rows()).toBe(0)
    await cluster.patch('Gateway', 'team', 'prod', { spec: { allowedNamespaces: null } })
  })

  test("assigns a host to the older Connector of two tenants, and to one of the Gateway's namespace before both", async () => {
    const { cluster, replica } = world
    await cluster.namespace('later')
    const connectors = { from: 'Selector', names: ['tenant', 'later'] }
    await cluster.patch('Gateway', 'team', 'prod', { spec: { allowedNamespaces: { connectors } } })
    const claim = (namespace: string, domain: string) =>
      cluster.create('Connector', namespace, 'claims', {
        ...{ type: 'generic', domains: [domain], auth: { type: 'none' } },
        gatewayRefs: [{ name: 'prod', namespace: 'team' }],
      })
    const made = Date.now()
    await claim('tenant', '*.corp.example')
    await untilConditions(cluster, ['Connector', 'tenant', 'claims'], ['Accepted=True/Accepted'])
    // The API server counts whole seconds.
    await eventually('a later second', () => (Math.floor(Date.now() / 1000) > made / 1000 + 1 ? true : null))
    await claim('later', 'a.corp.example')
    const younger = await untilConditions(
      cluster,
      ['Connector', 'later', 'claims'],
      ['Accepted=False/Conflict'],
    )
    expect(JSON.stringify(statusOf(younger).conditions)).toContain(
      'connector tenant/claims, whose claim is older',
    )
    await claim('team', 'b.corp.example')
    await untilConditions(cluster, ['Connector', 'team', 'claims'], ['Accepted=True/Accepted'])
    await untilConditions(cluster, ['Connector', 'tenant', 'claims'], ['Accepted=False/Conflict'])
    // What the older one kept from it is free now.
    await untilConditions(cluster, ['Connector', 'later', 'claims'], ['Accepted=True/Accepted'])
    const { rows } = await replica.db.query<{ name: string }>(
      "select name from connectors where name like '%/claims' order by name",
    )
    expect(rows.map(({ name }) => name)).toEqual(['later/claims', 'team/claims'])
    await cluster.patch('Gateway', 'team', 'prod', { spec: { allowedNamespaces: null } })
  })

  test('reports failing tests of a Policy, and keeps the last version that passed in force', async () => {
    const { cluster } = world
    const place = ['Policy', 'team', 'careful'] as const
    await cluster.patch('Policy', 'team', 'careful', {
      spec: { rules: [{ name: 'no-deletes', conditions: ['false'], decision: 'deny' }] },
    })
    const failing = await untilConditions(cluster, place, [
      'Accepted=False/TestsFailed',
      'Ready=False/NotAccepted',
    ])
    expect(statusOf(failing)).toMatchObject({ tests: { passed: 0, total: 1 }, observedGeneration: 2 })
  })

  test('removes deleted objects, including those deleted while no replica led', async () => {
    const { cluster, replica } = world
    await cluster.remove('Permission', 'team', 'prs')
    await eventually('the Permission is gone', async () =>
      (await replica.operator('GET', '/api/operator/objects/Permission/team/prs')).status === 404
        ? true
        : null,
    )
    await operator[Symbol.asyncDispose]()
    await cluster.remove('Policy', 'team', 'careful')
    operator = await world.operator()
    await eventually('the Policy is gone', async () =>
      (await replica.operator('GET', '/api/operator/objects/Policy/team/careful')).status === 404
        ? true
        : null,
    )
    expect(conditions(await cluster.get('Gateway', 'team', 'prod'))).toContain('Accepted=True/Accepted')
  })
})
