import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { newId } from '../../controlplane/crypto/ids.ts'
import { randomToken } from '../../controlplane/crypto/tokens.ts'
import { bumpVersion } from '../../controlplane/db/config-version.ts'
import { insertAgent } from '../../controlplane/features/agents/store.ts'
import type { TrafficRecord } from '../../core/record.ts'
import { sha256 } from '../../runtime/sha256.ts'
import { readConfig } from '../../sidecar/config.ts'
import { createGateway } from '../../sidecar/gateway.ts'
import { createManifests, type Manifests } from '../controlplane/manifests/manifests.ts'
import { type Replica, startWorld } from '../controlplane/sync/harness.ts'
import { eventually } from '../support/eventually.ts'
import { type Recorder, startRecorder } from '../support/recorder.ts'

/** A Gateway with a process of its own, through which agents send requests. */
export type TenantGateway = {
  /** As an agent (`namespace/name`), which is made when it is new. Answers the status. */
  send(agent: string, method: string, host: string, path?: string): Promise<number>
  records(): Promise<readonly TrafficRecord[]>
}

/** A control plane and the Gateways of several tenants, whose Connectors lead to one upstream. */
export type TenantWorld = AsyncDisposable & {
  readonly manifests: Manifests
  readonly upstream: Recorder
  /** Applies the Gateway and starts its process. */
  gateway(path: string, spec?: object): Promise<TenantGateway>
  /** Resolves when every process has the newest configuration. */
  caughtUp(): Promise<void>
}

export async function startTenantWorld(): Promise<TenantWorld> {
  const world = await startWorld()
  const replica = await world.replica()
  const manifests = createManifests(world, replica)
  const upstream = await startRecorder()
  const stops: Array<() => Promise<void>> = []
  const caughtUp = () =>
    eventually('every process has the newest configuration', async () => {
      const { rows } = await replica.db.query<{ version: string }>('select version from config_version')
      const newest = Number(rows[0]?.version)
      const all = replica.hub.processes()
      const isCovered = all.every(({ covered_version: covered }) => (covered ?? -1) >= newest)
      return all.length >= stops.length && isCovered ? true : null
    }).then(() => undefined)
  return {
    ...{ manifests, upstream, caughtUp },
    async gateway(path, spec = {}) {
      await manifests.apply('Gateway', path, spec)
      const { token } = await replica.enrol(path)
      const started = await startProcess(replica, token)
      stops.push(started.stop)
      await caughtUp()
      return { send: senderOf(replica, started.port, caughtUp), records: started.records }
    },
    async [Symbol.asyncDispose]() {
      for (const stop of stops) await stop()
      await upstream.close()
      await world.stop()
    },
  }
}

async function startProcess(replica: Replica, token: string) {
  const dir = mkdtempSync(join(tmpdir(), 'chaperone-tenant-'))
  const tokenFile = join(dir, 'enrol.token')
  writeFileSync(tokenFile, token)
  const config = readConfig({
    ...{ PORT: '0', CONTROL_PLANE_URL: replica.url, GATEWAY_TOKEN_FILE: tokenFile, DATA_DIR: dir },
    ...{ CAPTURE_SOCKET: join(dir, 'capture.sock'), WHOLE_REFUSALS_PER_MINUTE: '100000' },
  })
  const gateway = await createGateway(config, pino({ level: 'silent' }))
  const bearer = readFileSync(join(dir, 'gateway.token'), 'utf8').trim()
  return {
    port: gateway.port,
    async records() {
      const answer = await fetch(`http://127.0.0.1:${gateway.port}/internal/traffic?limit=1000`, {
        headers: { authorization: `Bearer ${bearer}` },
      })
      return ((await answer.json()) as { traffic: readonly TrafficRecord[] }).traffic
    },
    async stop() {
      await gateway.close()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

function senderOf(replica: Replica, port: number, caughtUp: () => Promise<void>): TenantGateway['send'] {
  const keys = new Map<string, string>()
  return async (agent, method, host, path = '/') => {
    const key = keys.get(agent) ?? (await createAgent(replica, agent))
    if (!keys.has(agent)) await caughtUp()
    keys.set(agent, key)
    const credential = Buffer.from(`${agent}:${key}`).toString('base64')
    const headers = { host, 'proxy-authorization': `Basic ${credential}` }
    return new Promise((resolve, reject) => {
      const call = { host: '127.0.0.1', port, method, path: `http://${host}${path}`, headers, agent: false }
      request(call, (answer) => {
        answer.resume()
        answer.on('end', () => resolve(answer.statusCode ?? 0)).on('error', reject)
      })
        .on('error', reject)
        .end()
    })
  }
}

/** Its name is of one namespace, and it may use any gateway. */
async function createAgent({ db, orgId }: Replica, name: string): Promise<string> {
  const key = randomToken()
  await db.tx(async (q) => {
    await insertAgent(q, {
      ...{ id: newId('agent'), orgId, name, runtime: '', environment: 'production' },
      ...{ status: 'active', capabilities: [], metadata: {}, apiKeyPrefix: key.slice(0, 12) },
      ...{ apiKeySha256: sha256(key), gatewayId: null, source: 'kubernetes', managedBy: null },
    })
    await bumpVersion(q)
  })
  return key
}
