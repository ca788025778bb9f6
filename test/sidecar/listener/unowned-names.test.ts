import { afterEach, describe, expect, it } from 'vitest'
import { createUnownedNames } from '../../../sidecar/listener/dns/unowned-names.ts'
import { ownerOf } from '../../../sidecar/name-owner.ts'
import type { Credentials } from '../../../sidecar/pipeline/credentials/credentials.ts'
import { waitFor } from '../../support/wait-for.ts'
import { killAll, type Rules, startWorld, type World } from '../pipeline/test-world.ts'

const open: World[] = []
afterEach(async () => {
  for (const world of open.splice(0)) await world[Symbol.asyncDispose]()
})

const RULES: Rules = {
  agents: [{ name: 'builder' }, { name: 'other', id: 'agt_other' }, { name: 'idle', status: 'suspended' }],
  permissions: [['codehost.*', 'allow']],
}
const BUILDER: Credentials = { kind: 'port', agent: 'builder' }

async function start(domains: readonly string[] = []) {
  const world = await startWorld(RULES)
  open.push(world)
  const failures: unknown[] = []
  const note = (fields: unknown): void => void failures.push(fields)
  const report = createUnownedNames({
    handle: world.run,
    newRequestId: () => 'req_1',
    log: { debug: note, warn: note, error: note },
    domains,
    isUnowned: (name) => ownerOf(world.state.snapshot, name) === 'unknown',
    monotonicMs: () => world.ports.clock.monotonicMs(),
  })
  const shown = () => world.records.map(({ agent, host, reason }) => `${agent} ${host} ${reason}`)
  return { world, report, shown, failures }
}

describe('look-ups of names that no connector owns', () => {
  it('leave one record for each agent and name, with the connections to that host', async () => {
    const { world, report, shown, failures } = await start()
    for (let n = 0; n < 5; n++) {
      for (const each of ['evil.example', 'evil.example', 'updates.example']) report(each, BUILDER)
      report('evil.example', { kind: 'port', agent: 'other' })
      world.clock.aheadMs += 61_000
    }
    await waitFor(() => expect(world.counted).toHaveLength(12))
    await world.send({
      ...{ method: 'CONNECT', target: 'evil.example:443', kind: 'tunnel', host: 'evil.example:443' },
      credentials: BUILDER,
    })
    expect(shown().sort()).toEqual([
      'builder evil.example unknown_host',
      'builder updates.example unknown_host',
      'other evil.example unknown_host',
    ])
    expect(world.records[0]).toMatchObject({ decision: 'DENY', note: 'name look-up' })
    expect(world.counted).toHaveLength(13)
    expect(world.upstream.connections).toBe(0)
    expect(failures).toEqual([])
  })

  it('do not count against the rate limit of the agent', async () => {
    const { world, report } = await start()
    world.state.rate = { ok: false, retryAfterS: 7 }
    report('evil.example', BUILDER)
    await waitFor(() => expect(world.records).toMatchObject([{ reason: 'unknown_host' }]))
  })

  it('leave the record of the name itself where a resolver appends its search domains, and none of owned names', async () => {
    const domains = ['team.svc.cluster.local', 'svc.cluster.local', 'cluster.local']
    const { world, report, shown } = await start(domains)
    for (const name of ['evil.example', 'api.github.com', 'db'])
      for (const suffix of [...domains.map((domain) => `.${domain}`), '']) {
        const asked = name + suffix
        if (ownerOf(world.state.snapshot, asked) === 'unknown') report(asked, BUILDER)
      }
    await waitFor(() => expect(shown()).toContain('builder db unknown_host'))
    expect(shown().filter((line) => line.includes('evil'))).toEqual(['builder evil.example unknown_host'])
    expect(shown().filter((line) => line.includes('github'))).toEqual([])
    expect(shown()).toContain('builder db.team.svc.cluster.local unknown_host')
  })

  it.each(['4.3.2.1.in-addr.arpa', 'localhost', 'x.localhost'])(
    'leave none for %s, which is no host',
    async (name) => {
      const { world, report } = await start()
      report(name, BUILDER)
      report('evil.example', BUILDER)
      await waitFor(() => expect(world.records).toMatchObject([{ host: 'evil.example' }]))
    },
  )

  it('are recorded with bytes that can be stored, whatever the labels hold', async () => {
    const { world, report } = await start()
    report('a\u0000b \u00e9.example', BUILDER)
    await waitFor(() => expect(world.records).toMatchObject([{ host: 'a?b??.example:443' }]))
    expect(world.upstream.connections).toBe(0)
  })

  it('are refused by a kill switch, as connections are', async () => {
    const { world, report } = await start()
    world.state.kill = [killAll()]
    report('evil.example', BUILDER)
    await waitFor(() => expect(world.records).toMatchObject([{ reason: 'kill_switch' }]))
    expect(world.upstream.connections).toBe(0)
  })
})
