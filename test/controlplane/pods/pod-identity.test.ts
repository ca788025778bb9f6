import { execFileSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SYNC_PATHS } from '../../../core/wire/gateway/sync.ts'
import { issueCa } from '../../../sidecar/tls/issued-ca.ts'
import { eventually } from '../../support/eventually.ts'
import { type PodWorld, type Sidecar, startPodWorld } from './pod-world.ts'

let world: PodWorld
beforeAll(async () => {
  world = await startPodWorld()
  await world.apply('Gateway', 'team', 'gateway', {})
  await world.apply('Gateway', 'other', 'gateway', {
    allowedNamespaces: { agents: { from: 'Selector', names: ['friend'] } },
  })
  await world.apply('Connector', 'team', 'code', { type: 'codehost' }, 'secret-of-code')
  await world.apply('Connector', 'team', 'pay', { type: 'payments' }, 'secret-of-payments')
  await world.apply('Permission', 'team', 'code', {
    gatewayRefs: [{ name: 'gateway' }],
    agents: ['bot'],
    rules: [{ connectorType: 'codehost', actionPattern: 'codehost.*', decision: 'allow' }],
  })
  await world.apply('Permission', 'team', 'pay', {
    gatewayRefs: [{ name: 'gateway' }],
    agents: ['cashier'],
    rules: [{ connectorType: 'payments', actionPattern: 'payments.*', decision: 'require_approval' }],
  })
})
afterAll(() => world[Symbol.asyncDispose]())

const hasSnapshot = (sidecar: Sidecar) =>
  eventually('snapshot', () => sidecar.snapshot()).catch((error: unknown) => {
    throw new Error(`${String(error)}: ${sidecar.log.text()}`)
  })
const status = async (sidecar: Sidecar): Promise<{ status: number; text: string }> => {
  const reply = await sidecar.control.client.post(SYNC_PATHS.records, { records: [] })
  return { status: reply.status, text: reply.bytes.toString() }
}

describe('a sidecar', () => {
  test('is known by its token, gets its first rules, and its agent is registered once with an audit event', async () => {
    const pod = world.pod()
    await using one = await world.sidecar(pod)
    await using two = await world.sidecar(world.pod({ name: 'bot-2' }))
    const snapshot = await hasSnapshot(one)
    await hasSnapshot(two)
    expect(snapshot.gateway.name).toBe('team/gateway')
    expect([...snapshot.agentsByName.keys()]).toEqual(['team/bot'])
    const events = (await world.audit('agent.registered')).filter(
      ({ details }) => (details as { name?: string }).name === 'team/bot',
    )
    expect(events).toHaveLength(1)
    expect(events[0]?.['details']).toMatchObject({
      namespace: 'team',
      service_account: 'bot',
      gateway: 'team/gateway',
    })
    const rows = await world.sql(`select service_account from pod_identities where pod_uid = '${pod.uid}'`)
    expect(rows).toEqual([{ service_account: 'bot' }])
  })

  test('gets only the connectors of which something is allowed to its agent, and no other credential', async () => {
    await using bot = await world.sidecar(world.pod())
    await using cashier = await world.sidecar(world.pod({ serviceAccount: 'cashier' }), {
      agent: 'team/cashier',
    })
    await using idle = await world.sidecar(world.pod({ serviceAccount: 'idle' }), { agent: 'team/idle' })
    const secrets = async (sidecar: Sidecar): Promise<string[]> =>
      [...(await hasSnapshot(sidecar)).hosts.exact.values()]
        .flat()
        .map(({ bound }) => bound.entry.secret ?? '')
    expect(new Set(await secrets(bot))).toEqual(new Set(['secret-of-code']))
    expect(new Set(await secrets(cashier))).toEqual(new Set(['secret-of-payments']))
    expect(await secrets(idle)).toEqual([])
    expect((await hasSnapshot(cashier)).permissions.size).toBe(1)
  })

  test('goes on with a token that the kubelet renewed, also on a new stream', async () => {
    const pod = world.pod()
    await using sidecar = await world.sidecar(pod)
    const version = (await hasSnapshot(sidecar)).version
    world.kube.delete(sidecar.token)
    sidecar.token = world.kube.tokenOf(pod)
    expect((await status(sidecar)).status).toBe(200)
    await world.apply('Gateway', 'team', 'gateway', { rateLimit: { requestsPerMinute: 77 } })
    await eventually('newer snapshot', () => (sidecar.snapshot()?.version ?? 0) > version || null)
    expect(sidecar.snapshot()?.gateway.rateLimit.requestsPerMinute).toBe(77)
  })

  test('is asked about once for its stream and its calls together', async () => {
    await using sidecar = await world.sidecar(world.pod())
    await hasSnapshot(sidecar)
    for (let call = 0; call < 5; call++) expect((await status(sidecar)).status).toBe(200)
    expect(world.kube.asked.filter((token) => token === sidecar.token)).toHaveLength(1)
  })

  test('counts as one of the processes of its gateway', async () => {
    await using one = await world.sidecar(world.pod())
    await using two = await world.sidecar(world.pod({ name: 'bot-2' }))
    await hasSnapshot(one)
    await hasSnapshot(two)
    const state = await world.plane.call('GET', '/api/operator/state', undefined, {
      authorization: 'Bearer the-operator-token',
    })
    const processes = state.body['processes'] as Array<{ process_id: string; gateway: string }>
    for (const { processId } of [one, two])
      expect(processes).toContainEqual(
        expect.objectContaining({ process_id: processId, gateway: 'team/gateway' }),
      )
  })
})

describe('a sidecar is refused', () => {
  test.each([
    ['with a token for another audience', { audience: 'kubernetes' }, 401],
    ['for an agent of another namespace', { agent: 'other/bot' }, 403],
    ['at a Gateway that does not admit agents of its namespace', { gateway: 'other/gateway' }, 403],
    ['at a Gateway that is not there', { gateway: 'team/none' }, 403],
  ])('%s', async (_what, { audience, ...claims }: Record<string, string>, expected) => {
    const pod = world.pod()
    const token = audience === undefined ? world.kube.tokenOf(pod) : world.kube.tokenOf(pod, audience)
    await using sidecar = await world.sidecar(pod, { ...claims, token })
    expect(await status(sidecar)).toMatchObject({ status: expected })
    expect(sidecar.snapshot()).toBeNull()
  })

  test('when its pod is deleted', async () => {
    const pod = world.pod()
    const token = world.kube.tokenOf(pod)
    world.kube.delete(token)
    await using sidecar = await world.sidecar(pod, { token })
    expect((await status(sidecar)).status).toBe(401)
  })

  test('when its agent belongs to another ServiceAccount', async () => {
    await using first = await world.sidecar(world.pod({ serviceAccount: 'one' }), { agent: 'team/taken' })
    await hasSnapshot(first)
    await using second = await world.sidecar(world.pod({ serviceAccount: 'two' }), { agent: 'team/taken' })
    const answer = await status(second)
    expect(answer.status).toBe(403)
    expect(answer.text).toContain('belongs to ServiceAccount one')
  })

  test('with 503 while the cluster does not answer, and let in when it does', async () => {
    world.kube.status = 500
    await using sidecar = await world.sidecar(world.pod())
    expect((await status(sidecar)).status).toBe(503)
    world.kube.status = null
    await hasSnapshot(sidecar)
  })

  test('with 403 when it speaks for another agent, or gives commands', async () => {
    await using sidecar = await world.sidecar(world.pod())
    await hasSnapshot(sidecar)
    const hold = await sidecar.control.client.post(SYNC_PATHS.holds, { ...HOLD, agent: 'team/cashier' })
    expect(hold.status).toBe(403)
    const command = await sidecar.control.client.post(SYNC_PATHS.commands, { command: 'connectors.list' })
    expect(JSON.parse(command.bytes.toString())).toMatchObject({ status: 403 })
  })

  test('a revoked agent stays revoked: its pods receive that state and no new agent takes its name', async () => {
    await using before = await world.sidecar(world.pod({ serviceAccount: 'gone' }), { agent: 'team/gone' })
    await hasSnapshot(before)
    await world.sql(`update agents set status = 'revoked' where name = 'team/gone'`)
    await world.apply('Gateway', 'team', 'gateway', { rateLimit: { requestsPerMinute: 78 } })
    await using after = await world.sidecar(world.pod({ serviceAccount: 'gone' }), { agent: 'team/gone' })
    const snapshot = await hasSnapshot(after)
    expect(snapshot.agentsByName.get('team/gone')?.status).toBe('revoked')
    const rows = await world.sql(`select status from agents where name = 'team/gone'`)
    expect(rows).toEqual([{ status: 'revoked' }])
  })
})

describe('an agent of which two Gateways have pods', () => {
  const boundTo = async (agent: string) => {
    const rows = await world.sql(
      `select g.name from agents a join gateways g on g.id = a.gateway_id where a.name = '${agent}'`,
    )
    return rows.map(({ name }) => name)
  }
  const served = (agent: string) =>
    eventually('its process is known', async () => {
      const rows = await world.sql(
        `select 1 from gateway_processes where facts->>'agent' = '${agent}' and disconnected_at is null`,
      )
      return rows.length > 0 ? true : null
    })
  beforeAll(() => world.apply('Gateway', 'team', 'second', {}))

  test('stays with the one that runs: a pod of another workload is refused with its place, repeatedly', async () => {
    const names = { agent: 'team/twin', workload: 'Deployment web' }
    await using first = await world.sidecar(world.pod({ name: 'web-7d4b9c6f5-x2x4z' }), names)
    await hasSnapshot(first)
    await served('team/twin')
    await using second = await world.sidecar(world.pod({ name: 'batch-0' }), {
      ...names,
      workload: 'StatefulSet batch',
      gateway: 'team/second',
    })
    for (let attempt = 0; attempt < 3; attempt += 1) {
      const answer = await status(second)
      expect(answer.status).toBe(403)
      expect(answer.text).toMatch(
        /team\/twin runs under Gateway team\/gateway already, as Deployment web, and pod batch-0/,
      )
      expect(answer.text).toContain('chaperone.dev/agent')
    }
    expect(second.snapshot()).toBeNull()
    expect(await boundTo('team/twin')).toEqual(['team/gateway'])
    expect((await status(first)).status).toBe(200)
    // Another replica of the first comes back in the meantime.
    await using third = await world.sidecar(world.pod({ name: 'web-7d4b9c6f5-k9m2q' }), names)
    expect((await hasSnapshot(third)).agentsByName.has('team/twin')).toBe(true)
  })

  test('goes to the other one when nobody of the first is left', async () => {
    const names = { agent: 'team/heir' }
    const first = await world.sidecar(world.pod({ name: 'old-xk2bd' }), names)
    await hasSnapshot(first)
    await served('team/heir')
    await using second = await world.sidecar(world.pod({ name: 'new-xk2bd' }), {
      ...names,
      gateway: 'team/second',
    })
    expect((await status(second)).status).toBe(403)
    await first[Symbol.asyncDispose]()
    expect((await hasSnapshot(second)).gateway.name).toBe('team/second')
    expect(await boundTo('team/heir')).toEqual(['team/second'])
  })

  test('goes along with a workload that changes its Gateway while its old pods still run', async () => {
    const names = { agent: 'team/mover', workload: 'Deployment mover' }
    await using old = await world.sidecar(world.pod({ name: 'mover-6c5d7b8f9b-bcdfg' }), names)
    await hasSnapshot(old)
    await served('team/mover')
    const pod = world.pod({ name: 'mover-59f8d7c4b6-hjklm' })
    await using young = await world.sidecar(pod, { ...names, gateway: 'team/second' })
    expect((await hasSnapshot(young)).agentsByName.has('team/mover')).toBe(true)
    expect(await boundTo('team/mover')).toEqual(['team/second'])
  })

  test('is that of every workload that has been it: one that joined later moves as freely', async () => {
    const names = { agent: 'team/pair' }
    await using blue = await world.sidecar(world.pod({ name: 'blue-0' }), names)
    await using green = await world.sidecar(world.pod({ name: 'green-0' }), {
      ...names,
      workload: 'StatefulSet green',
    })
    await hasSnapshot(blue)
    await hasSnapshot(green)
    await served('team/pair')
    await using moved = await world.sidecar(world.pod({ name: 'green-1' }), {
      ...names,
      workload: 'StatefulSet green',
      gateway: 'team/second',
    })
    expect((await hasSnapshot(moved)).gateway.name).toBe('team/second')
  })
})

describe('the agent of another workload', () => {
  beforeAll(async () => {
    await using deployed = await world.sidecar(world.pod({ name: 'payments-0' }), {
      ...{ agent: 'team/payments', workload: 'StatefulSet payments' },
    })
    await hasSnapshot(deployed)
  })

  test.each(['SandboxTemplate payments', 'Sandbox payments'])(
    'is never %s, also while it has no pod',
    async (workload) => {
      await using sandbox = await world.sidecar(world.pod({ name: 'payments' }), {
        agent: 'team/payments',
        workload,
      })
      const answer = await status(sandbox)
      expect(answer.status).toBe(403)
      expect(answer.text).toContain(
        `Agent team/payments belongs to StatefulSet payments, but pod payments is of ${workload}. Give ${workload} another agent name`,
      )
      expect(sandbox.snapshot()).toBeNull()
    },
  )

  test('may be a sandbox of the same template, whatever the names of its pods are', async () => {
    const names = { agent: 'team/research', workload: 'SandboxTemplate research' }
    for (const name of ['warm-7v7qv', 'alice']) {
      await using sandbox = await world.sidecar(world.pod({ name }), names)
      expect((await hasSnapshot(sandbox)).agentsByName.has('team/research')).toBe(true)
    }
    const rows = await world.sql(
      `select metadata -> 'workloads' as workloads from agents where name = 'team/research'`,
    )
    expect(rows).toEqual([{ workloads: ['SandboxTemplate research'] }])
  })
})

describe('across namespaces', () => {
  test('a Gateway that admits agents of a namespace has them', async () => {
    const pod = world.pod({ namespace: 'friend' })
    await using sidecar = await world.sidecar(pod, { gateway: 'other/gateway', agent: 'friend/bot' })
    expect((await hasSnapshot(sidecar)).gateway.name).toBe('other/gateway')
  })
})

describe("a sidecar's certificate", () => {
  test('is signed for its own key, for a day, by a root that stays the same', async () => {
    await using sidecar = await world.sidecar(world.pod())
    await hasSnapshot(sidecar)
    const sign = async (request: string): Promise<string> => {
      const reply = await sidecar.control.client.post(SYNC_PATHS.certificate, { request })
      expect(reply.status, reply.bytes.toString()).toBe(200)
      return (JSON.parse(reply.bytes.toString()) as { chain: string }).chain
    }
    const first = await issueCa('anything', sign)
    const second = await issueCa('anything', sign)
    const [one, two] = [first, second].map(({ ca }) => new X509Certificate(ca.caPem))
    expect(one?.subject).toBe(two?.subject)
    const intermediate = new X509Certificate(first.ca.certPem)
    expect(intermediate.subject).toContain('CN=Chaperone team/bot')
    expect(intermediate.verify(two?.publicKey as NonNullable<typeof two>['publicKey'])).toBe(true)
    expect(first.notAfterMs - Date.now()).toBeLessThanOrEqual(86_400_000)
    expect(first.notAfterMs - Date.now()).toBeGreaterThan(86_000_000)
  })

  test('permits the hosts of its connectors only, also after one was added', async () => {
    await using sidecar = await world.sidecar(world.pod())
    await hasSnapshot(sidecar)
    const constraints = async (): Promise<string> => {
      const issued = await issueCa('anything', async (request) => {
        const reply = await sidecar.control.client.post(SYNC_PATHS.certificate, { request })
        return (JSON.parse(reply.bytes.toString()) as { chain: string }).chain
      })
      const text = execFileSync('openssl', ['x509', '-noout', '-ext', 'nameConstraints'], {
        input: issued.ca.certPem,
      }).toString()
      return text.replaceAll(/\s+/g, ' ')
    }
    const first = await constraints()
    expect(first).toContain('Name Constraints: critical Permitted:')
    expect(first).toContain('DNS:github.com')
    // The connector of another agent of the same Gateway.
    expect(first).not.toContain('stripe')
    const { version } = sidecar.snapshot() ?? { version: 0 }
    await world.apply('Connector', 'team', 'extra', {
      type: 'codehost',
      domains: ['*.code.example', '192.0.2.7', 'Git.Other.Example'],
    })
    await eventually('newer snapshot', () => (sidecar.snapshot()?.version ?? 0) > version || null)
    const second = await constraints()
    for (const name of ['DNS:code.example', 'DNS:git.other.example', 'IP:192.0.2.7/255.255.255.255'])
      expect(second).toContain(name)
  })

  test('is not given for a request that is none, or that somebody else signed', async () => {
    await using sidecar = await world.sidecar(world.pod())
    for (const request of [
      '',
      '-----BEGIN CERTIFICATE REQUEST-----\nMAAA\n-----END CERTIFICATE REQUEST-----',
    ]) {
      const reply = await sidecar.control.client.post(SYNC_PATHS.certificate, { request })
      expect(reply.status).toBe(400)
    }
    const forged = issueCa('x', async (request) => {
      const bytes = Buffer.from(request.split('-----')[2] ?? '', 'base64')
      bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1
      const text = `-----BEGIN CERTIFICATE REQUEST-----\n${bytes.toString('base64')}\n-----END CERTIFICATE REQUEST-----`
      const reply = await sidecar.control.client.post(SYNC_PATHS.certificate, { request: text })
      throw new Error(`answered ${reply.status}`)
    })
    await expect(forged).rejects.toThrow('answered 400')
  })

  test('is not given to anybody without a token', async () => {
    const answer = await world.plane.call('POST', SYNC_PATHS.certificate, { request: '' })
    expect(answer.status).toBe(401)
  })
})

const HOLD = {
  ...{
    binding: 'a'.repeat(64),
    agent: '',
    act_id: 'act_1',
    connector: 'code',
    action_type: 'codehost.pr.merge',
  },
  ...{ target: null, method: 'PUT', host: 'api.github.com', path: '/x', parameters: {}, risk_score: 0.5 },
  ...{ risk_factors: [], matched_rule: null, required_approver_groups: [], requested_by_agent_text: null },
  body_sha256: null,
}
