import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { kubeconfigAccess, loadKubeconfig } from '../../../kube/kubeconfig-access.ts'
import { SECRET_WATCH_TIMING } from '../../../operator/cluster/secret-watch.ts'
import {
  type ConnectorSecrets,
  type ConnectorSecretsDeps,
  createConnectorSecrets,
} from '../../../operator/cluster/secrets.ts'
import { createKubeClient, type KubeClient } from '../../../operator/kube/client.ts'
import { pathOf } from '../../../operator/kube/objects.ts'
import { eventually } from '../../support/eventually.ts'
import { startFakeKubeApi } from '../../support/fake-kube-api.ts'
import {
  KUBE_ASSETS_HINT,
  type KubeApiServer,
  kubeAssets,
  startKubeApiServer,
} from '../../support/kube-api-server.ts'
import { size } from '../../support/proof.ts'
import { type Cluster, openCluster } from '../kube/cluster.ts'

const SECRETS = { base: '/api/v1', plural: 'secrets' }
const RBAC = '/apis/rbac.authorization.k8s.io/v1'
const encoded = (text: string) => Buffer.from(text).toString('base64')

type Followed = {
  readonly secrets: ConnectorSecrets
  /** Keys of the Connectors whose Secret changed. */
  readonly enqueued: readonly string[]
  /** Messages of the log at the level of warnings. */
  readonly warnings: readonly string[]
  /** Names of the Connectors whose Secret the operator may not watch. */
  readonly forbidden: readonly string[]
  /** The Connectors, by the name of their Secret. */
  readonly names: string[]
  /** Number of comparisons of the references of Connectors with the Secrets that are followed. */
  comparisons(): number
  stop(): Promise<void>
}

function follow(
  client: Pick<KubeClient, 'call' | 'open'>,
  names: string[],
  options: Partial<ConnectorSecretsDeps> = {},
): Followed {
  const enqueued: string[] = []
  const warnings: string[] = []
  const forbidden: string[] = []
  const stopped = new AbortController()
  const write = (line: string) => void warnings.push(JSON.parse(line).msg)
  let comparisons = 0
  const connectors = () => {
    comparisons++
    return names.map((name) => ({
      metadata: { namespace: 'team', name: `of-${name}` },
      spec: { credential: { secretRef: { name, key: 'token' } } },
    }))
  }
  const secrets = createConnectorSecrets({
    client,
    caches: { Connector: { list: connectors } } as unknown as ConnectorSecretsDeps['caches'],
    enqueue: (key) => void enqueued.push(key),
    onForbidden: ({ metadata }) => void forbidden.push(metadata.name),
    signal: stopped.signal,
    log: pino({ level: 'warn' }, { write }),
    ...options,
  })
  const following = secrets.follow()
  const stop = async () => {
    stopped.abort()
    await following
  }
  return { ...{ secrets, enqueued, warnings, forbidden, names }, comparisons: () => comparisons, stop }
}

async function tokenOf({ secrets }: Followed, name: string): Promise<string> {
  const reading = await secrets.read(`team/${name}`)
  if (reading.state !== 'found') return reading.state
  return Buffer.from(reading.data['token'] ?? '', 'base64').toString()
}
const until = (followed: Followed, name: string, value: string) =>
  eventually(`${name} is ${value}`, async () => ((await tokenOf(followed, name)) === value ? true : null))

describe.skipIf(kubeAssets() === null)(`Secrets of Connectors (${KUBE_ASSETS_HINT})`, () => {
  let server: KubeApiServer
  let cluster: Cluster
  /** The client of a ServiceAccount that has the rights of the test. */
  let client: KubeClient
  const running: Followed[] = []

  const start = (...given: Parameters<typeof follow>) => {
    const followed = follow(...given)
    running.push(followed)
    return followed
  }
  const create = (name: string, token: string) =>
    cluster.createRaw(SECRETS, 'team', { metadata: { name }, data: { token: encoded(token) } })
  const change = (name: string, token: string) =>
    cluster.patch('Secret', 'team', name, { data: { token: encoded(token) } })
  const grant = (name: string, resourceNames: readonly string[], verbs = ['get', 'watch']) =>
    cluster.createRaw({ base: RBAC, plural: 'roles' }, 'team', {
      ...{ metadata: { name }, rules: [{ apiGroups: [''], resources: ['secrets'], verbs, resourceNames }] },
    })
  const bind = (name: string) =>
    cluster.createRaw({ base: RBAC, plural: 'rolebindings' }, 'team', {
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
      subjects: [{ kind: 'ServiceAccount', name: 'operator', namespace: 'team' }],
    })
  /** Completed calls of the ServiceAccount, as `verb name`. */
  async function calls(): Promise<readonly string[]> {
    const lines = (await readFile(server.auditLogPath, 'utf8')).split('\n').slice(0, -1)
    const events = lines.map(
      (line) =>
        JSON.parse(line) as {
          verb: string
          user: { username: string }
          objectRef?: { resource: string; name?: string }
        },
    )
    return events
      .filter(
        ({ user, objectRef }) => user.username.endsWith(':operator') && objectRef?.resource === 'secrets',
      )
      .map(({ verb, objectRef }) => `${verb} ${objectRef?.name ?? ''}`)
  }

  beforeAll(async () => {
    server = await startKubeApiServer()
    cluster = openCluster(server)
    await cluster.namespace('team')
    client = createKubeClient(await accessOf(cluster, server))
  })
  afterEach(async () => {
    for (const each of running.splice(0)) await each.stop()
  })
  afterAll(async () => {
    client?.[Symbol.dispose]()
    cluster?.[Symbol.dispose]()
    await server?.[Symbol.asyncDispose]()
  })

  test('are watched by name with no other rights, and at rest nothing is requested', async () => {
    await create('first', 'one')
    await grant('named', ['first', 'late'])
    await bind('named')
    const followed = start(client, ['first', 'late'])
    await until(followed, 'first', 'one')
    await until(followed, 'late', 'missing')
    await eventually('both are watched', () => (followed.secrets.counts().watched === 2 ? true : null))
    await compared(followed, 2)
    const before = (await calls()).length
    await compared(followed, size(3, 15))
    expect((await calls()).slice(before)).toEqual([])
    expect(followed.warnings).toEqual([])

    await change('first', 'two')
    await until(followed, 'first', 'two')
    expect(followed.enqueued).toEqual(['Connector/team/of-first'])
    await create('late', 'here')
    await until(followed, 'late', 'here')
    await cluster.remove('Secret', 'team', 'first')
    await until(followed, 'first', 'missing')
    await create('first', 'again')
    await until(followed, 'first', 'again')
    expect(await calls()).not.toContainEqual(expect.stringMatching(/^list/))
    expect((await calls()).slice(before).filter((call) => call.startsWith('get'))).toEqual([])
    const { ageS, unreadable } = followed.secrets.counts()
    expect(ageS.get('team')).toBeLessThan(60)
    expect(unreadable).toEqual({ missing: 0, forbidden: 0, unreadable: 0 })
  })

  test('that are forbidden are requested ever more rarely, logged once, and followed once the right is given', async () => {
    await create('secret', 'hidden')
    const reads: number[] = []
    const call: KubeClient['call'] = (given) => {
      if (given.path.endsWith('/secrets/secret')) reads.push(performance.now())
      return client.call(given)
    }
    const open: KubeClient['open'] = (given) => client.open(given)
    const followed = start({ call, open }, ['secret'], { pollMs: 100 })
    await until(followed, 'secret', 'forbidden')
    expect(followed.secrets.counts().unreadable.forbidden).toBe(1)
    // From at most 200 ms the interval doubles with each read.
    const isRarer = () => reads.some((at, n) => at - (reads[n - 1] ?? at) >= 400)
    await eventually('the reads are rarer', () => (isRarer() ? true : null))
    expect(reads.length).toBeLessThan(9)
    expect(followed.warnings).toHaveLength(1)
    expect(followed.forbidden).toEqual(['of-secret'])
    await grant('given', ['secret'])
    await bind('given')
    await until(followed, 'secret', 'hidden')
    expect(followed.warnings).toHaveLength(1)
    expect(followed.enqueued).toEqual(['Connector/team/of-secret'])
  })

  test('that are forbidden beyond the maximum of watches are reported once, like watched ones', async () => {
    await create('beyond', 'hidden')
    const followed = start(client, ['beyond'], { pollMs: 100, maxWatches: 0 })
    await eventually('the refusal is reported', () => (followed.forbidden.length > 0 ? true : null), 20_000)
    await until(followed, 'beyond', 'forbidden')
    await grant('beyond', ['beyond'])
    await bind('beyond')
    await until(followed, 'beyond', 'hidden')
    expect(followed.warnings).toHaveLength(1)
    expect(followed.forbidden).toEqual(['of-beyond'])
  })

  test('that may be read and not watched are read at intervals', async () => {
    await create('readable', 'one')
    await grant('reader', ['readable'], ['get'])
    await bind('reader')
    const followed = start(client, ['readable'], { pollMs: 100 })
    await until(followed, 'readable', 'one')
    await change('readable', 'two')
    await until(followed, 'readable', 'two')
    expect(followed.warnings).toHaveLength(1)
  })

  test('beyond the maximum of watches are read at intervals, and watched when a watch ends', async () => {
    const names = ['p1', 'p2', 'p3', 'p4']
    for (const name of names) await create(name, 'one')
    const followed = start(cluster.client, [...names], { pollMs: 100, maxWatches: 2 })
    for (const name of names) await until(followed, name, 'one')
    expect(followed.secrets.counts().watched).toBe(2)
    for (const name of names) await change(name, 'two')
    for (const name of names) await until(followed, name, 'two')
    followed.names.splice(0, 2)
    await change('p3', 'three')
    await until(followed, 'p3', 'three')
    await eventually('the others are watched', () => (followed.secrets.counts().watched === 2 ? true : null))
  })

  test('are watched up to two hundred', async () => {
    const names = Array.from({ length: 210 }, (_, n) => `many-${n}`)
    const followed = start(cluster.client, names)
    await eventually('they are followed', () =>
      followed.secrets.counts().unreadable.missing >= 200 ? true : null,
    )
    expect(followed.secrets.counts().watched).toBe(200)
    await create('many-7', 'seven')
    await until(followed, 'many-7', 'seven')
  })
})

test('a half-open watch is replaced, and its Secret read', async () => {
  await using api = await startFakeKubeApi()
  using client = createKubeClient(kubeconfigAccess((await api.front('test')).config))
  const secret = (token: string) => ({
    metadata: { namespace: 'team', name: 'token' },
    data: { token: encoded(token) },
  })
  api.store.create('api/v1/secrets', secret('one'))
  const watchTiming = { ...SECRET_WATCH_TIMING, idleMs: 2_000 }
  const followed = follow(client, ['token'], { pollMs: 100, watchTiming })
  await until(followed, 'token', 'one')
  await eventually('it is watched', () =>
    api.openWatches('/api/v1/namespaces/team/secrets') > 0 ? true : null,
  )
  const from = api.sentBookmarks()
  // More than the idle time of the watch, which is longer than a busy machine delays a bookmark.
  await eventually('bookmarks arrive', () => (api.sentBookmarks() >= from + 50 ? true : null))
  expect(api.calls.filter(({ isWatch }) => isWatch)).toHaveLength(1)
  api.silenceWatches()
  api.store.replace('api/v1/secrets', secret('two'))
  await until(followed, 'token', 'two')
  await followed.stop()
})

function compared(followed: Followed, times: number): Promise<true> {
  const from = followed.comparisons()
  return eventually(`${times} comparisons`, () => (followed.comparisons() >= from + times ? true : null))
}

async function accessOf({ client, createRaw }: Cluster, { url, caPem, folder }: KubeApiServer) {
  const accounts = { base: '/api/v1', plural: 'serviceaccounts' }
  await createRaw(accounts, 'team', { metadata: { name: 'operator' } })
  const { status } = await client.call<{ status: { token: string } }>({
    method: 'POST',
    path: `${pathOf(accounts, 'team', 'operator')}/token`,
    body: {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { expirationSeconds: 3_600 },
    },
  })
  const file = join(folder, 'operator.kubeconfig')
  const ca = Buffer.from(caPem).toString('base64')
  await writeFile(
    file,
    JSON.stringify({
      clusters: [{ name: 'test', cluster: { server: url, 'certificate-authority-data': ca } }],
      users: [{ name: 'operator', user: { token: status.token } }],
      contexts: [{ name: 'test', context: { cluster: 'test', user: 'operator' } }],
      'current-context': 'test',
    }),
  )
  return loadKubeconfig(file)
}
