import { describe, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { startControlWorld } from './control-world.ts'
import { agentEntry } from './fake-control-plane.ts'

const until = (what: string, isMet: () => boolean) => eventually(what, () => (isMet() ? true : null))

describe('the stream from the control plane', () => {
  test('the first section index becomes the snapshot in force and is acknowledged by version', async () => {
    await using world = await startControlWorld({
      prepare: (fake) => fake.configure({ agents: [agentEntry('bot')] }),
    })
    await until('snapshot', () => world.control.snapshots.current() !== null)
    expect(world.control.snapshots.current()?.agentsByName.get('bot')?.id).toBe('agent_bot')
    await until('ack', () => world.fake.acks.some((ack) => ack.version === world.fake.version))
    expect(world.control.leaseStep()).toBe('ok')
  })

  test('a change fetches only the sections that changed', async () => {
    await using world = await startControlWorld()
    await until('snapshot', () => world.control.snapshots.current() !== null)
    world.fake.paths.length = 0
    world.fake.configure({ agents: [agentEntry('new')] })
    await until('new agent', () => world.control.snapshots.current()?.agentsByName.has('new') === true)
    const fetched = world.fake.paths.filter((path) => path.includes('/sections/'))
    expect(fetched).toEqual(['/api/gateway/sections/agents'])
  })

  test('sections that are empty lists are not fetched', async () => {
    await using world = await startControlWorld()
    await until('snapshot', () => world.control.snapshots.current() !== null)
    const fetched = world.fake.paths.filter((path) => path.includes('/sections/'))
    expect(fetched.filter((path) => path.includes('/permissions.'))).toEqual([])
    expect(fetched).toContain('/api/gateway/sections/gateway')
  })

  test('a version that was replaced during its fetch is skipped at once without a warning', async () => {
    await using world = await startControlWorld()
    await until('snapshot', () => world.control.snapshots.current() !== null)
    const gate = Promise.withResolvers<void>()
    world.fake.beforeSection = () => gate.promise
    const before = world.fake.paths.length
    world.fake.configure({ agents: [agentEntry('first')] })
    // The last path can be that of a section of the first snapshot.
    await until('fetch', () => world.fake.paths.slice(before).some((path) => path.includes('/sections/')))
    // The gateway requests the section while the next section index is still in flight. Only the 404 shows that a
    // newer section index exists.
    world.fake.configure({ agents: [agentEntry('second')] }, { isAnnounced: false })
    gate.resolve()
    await until('404', () =>
      world.log.lines.some(({ message }) => message.includes('parts of a new configuration')),
    )
    world.fake.announce()
    await until('second', () => world.control.snapshots.current()?.agentsByName.has('second') === true)
    expect(world.log.lines.filter(({ level }) => level === 'warn')).toEqual([])
  })

  test('sections that cannot be fetched are logged', async () => {
    await using world = await startControlWorld()
    await until('snapshot', () => world.control.snapshots.current() !== null)
    world.fake.losesSections = true
    world.fake.configure({ agents: [agentEntry('late')] })
    await until('complaint', () =>
      world.log.lines.some(({ level, message }) => level === 'warn' && message.includes('cannot be fetched')),
    )
    world.fake.losesSections = false
    await until('late', () => world.control.snapshots.current()?.agentsByName.has('late') === true)
  })

  test('a section that does not match its hash is refused and reported, and the last valid snapshot stays in force', async () => {
    await using world = await startControlWorld({
      prepare: (fake) => fake.configure({ agents: [agentEntry('good')] }),
    })
    await until('snapshot', () => world.control.snapshots.current() !== null)
    const good = world.control.snapshots.current()
    world.fake.corrupt = 'agents'
    world.fake.configure({ agents: [agentEntry('evil')] })
    await until('rejection', () =>
      world.fake.acks.some((ack) => ack.rejected?.version === world.fake.version),
    )
    expect(world.control.snapshots.current()).toBe(good)
    expect(world.fake.acks.find((ack) => ack.rejected)?.rejected?.error).toContain('agents')
  })

  test('an invalid section refuses the whole version, valid sections included', async () => {
    await using world = await startControlWorld()
    await until('snapshot', () => world.control.snapshots.current() !== null)
    const good = world.control.snapshots.current()
    world.fake.configure({ agents: [agentEntry('fine')], connectors: [{ nonsense: true }] })
    await until('rejection', () => world.fake.acks.some((ack) => ack.rejected !== undefined))
    expect(world.control.snapshots.current()).toBe(good)
    world.fake.configure({ connectors: [] })
    await until('recovery', () => world.control.snapshots.current()?.agentsByName.has('fine') === true)
  })

  test('a section index with an invalid signature is ignored and logged', async () => {
    await using world = await startControlWorld()
    await until('snapshot', () => world.control.snapshots.current() !== null)
    const { version } = world.control.snapshots.current() ?? { version: -1 }
    world.fake.send({ ...world.fake.sectionIndex(), version: 999 })
    await until('complaint', () => world.log.text().includes('invalid signature'))
    expect(world.control.snapshots.current()?.version).toBe(version)
  })

  test('a kill switch is applied and acknowledged while sections are being fetched', async () => {
    await using world = await startControlWorld()
    await until('snapshot', () => world.control.snapshots.current() !== null)
    const gate = Promise.withResolvers<void>()
    world.fake.beforeSection = () => gate.promise
    const before = world.fake.paths.length
    world.fake.configure({ agents: [agentEntry('late')] })
    await until('fetch', () => world.fake.paths.slice(before).some((path) => path.includes('/sections/')))
    const seq = world.fake.kill([
      { scope: 'all', source: 'api', reason: 'incident', since: new Date().toISOString() },
    ])
    await until('kill ack', () => world.fake.acks.some((ack) => ack.kill_seq === seq))
    expect(world.kill.match({ agent: 'bot', agentId: null, connectors: [] })?.reason).toBe('incident')
    expect(world.control.snapshots.current()?.agentsByName.has('late')).toBe(false)
    gate.resolve()
    await until('snapshot', () => world.control.snapshots.current()?.agentsByName.has('late') === true)
  })

  test('it reconnects after the connection was cut, and after goaway', async () => {
    await using world = await startControlWorld()
    await until('connection', () => world.control.heartbeats.isConnected)
    world.fake.dropStreams()
    await until('loss', () => !world.control.heartbeats.isConnected)
    await until('reconnect', () => world.control.heartbeats.isConnected && world.fake.streams === 1)
    const before = world.fake.paths.filter((path) => path.endsWith('/stream')).length
    world.fake.send({ type: 'goaway', after_ms: 50 })
    await until(
      'new stream',
      () => world.fake.paths.filter((path) => path.endsWith('/stream')).length > before,
    )
    await until('connected again', () => world.control.heartbeats.isConnected)
  })

  test('invalid messages are skipped, and later ones are processed', async () => {
    await using world = await startControlWorld()
    await until('snapshot', () => world.control.snapshots.current() !== null)
    world.fake.raw('{"type":"from-the-future","x":1}\nnot json\n')
    world.fake.configure({ agents: [agentEntry('after')] })
    await until('next', () => world.control.snapshots.current()?.agentsByName.has('after') === true)
  })

  test('a refused token is logged with what to check', async () => {
    await using world = await startControlWorld({ token: 'wrong' })
    await until('complaint', () => world.log.text().includes('GATEWAY_TOKEN_FILE'))
    expect(world.control.snapshots.current()).toBeNull()
  })
})

describe('the lease', () => {
  test('rises step by step after the stream is lost and is ok again with the next signed message', async () => {
    await using world = await startControlWorld()
    await until('snapshot', () => world.control.snapshots.current() !== null)
    const { port } = world.fake
    await world.fake.stop()
    await until('loss', () => !world.control.heartbeats.isConnected)
    expect(world.control.leaseStep()).toBe('ok')
    world.clock.advance(30_000)
    expect(world.control.leaseStep()).toBe('high_risk')
    world.clock.advance(90_000)
    expect(world.control.leaseStep()).toBe('writes')
    world.clock.advance(480_000)
    expect(world.control.leaseStep()).toBe('everything')
    const { FakeControlPlane } = await import('./fake-control-plane.ts')
    await using _again = await FakeControlPlane.start({ port })
    await eventually('lease', () => (world.control.leaseStep() === 'ok' ? true : null))
  })

  test('an open stream without heartbeats counts as lost after 15 seconds', async () => {
    await using world = await startControlWorld()
    await until('snapshot', () => world.control.snapshots.current() !== null)
    world.fake.isBeating = false
    world.clock.advance(14_000)
    expect(world.control.leaseStep()).toBe('ok')
    world.clock.advance(30_000)
    expect(world.control.leaseStep()).toBe('high_risk')
    world.fake.beat(new Date(world.clock.nowMs() + 30_000).toISOString())
    await until('renewal', () => world.control.leaseStep() === 'ok')
  })

  test('a heartbeat that was delayed for more than 15 seconds does not renew the lease', async () => {
    await using world = await startControlWorld()
    await until('snapshot', () => world.control.snapshots.current() !== null)
    world.fake.isBeating = false
    const old = new Date(Date.now()).toISOString()
    world.clock.advance(60_000)
    world.fake.beat(old)
    world.fake.configure({})
    await until('section index', () => world.control.snapshots.current()?.version === world.fake.version)
    // The new section index renews the lease; the heartbeat before it did not.
    world.clock.advance(40_000)
    world.fake.beat(old)
    world.fake.kill([])
    await until('order', () => world.fake.acks.some((ack) => ack.kill_seq === world.fake.killSeq))
    expect(world.control.leaseStep()).toBe('high_risk')
  })
})
