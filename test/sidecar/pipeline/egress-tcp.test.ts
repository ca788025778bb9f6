import { afterEach, describe, expect, it } from 'vitest'
import { waitFor } from '../../support/wait-for.ts'
import type { Rules, World } from './test-world.ts'
import { startWorld } from './test-world.ts'

const open: World[] = []
afterEach(async () => {
  for (const world of open.splice(0)) await world[Symbol.asyncDispose]()
})

type Rule = { host: string; port?: number; allowPrivateAddresses?: boolean }

/** A tunnel to the recorder, which lies at a private address, under one `egress.tcp` rule. */
async function tunnelUnder(rule: Rule) {
  const world = await startWorld()
  open.push(world)
  const { port } = world.upstream
  const egress: NonNullable<Rules['gateway']>['egress'] = { tcp: [{ port, ...rule }] }
  world.apply({ gateway: { egress } })
  const target = `127.0.0.1:${port}`
  const sending = world.send({ kind: 'tunnel', method: 'CONNECT', target, host: target })
  return { world, sending }
}

describe('a host that egress.tcp lists', () => {
  it('is not dialled at a private address unless its entry says so, and the refusal names the field', async () => {
    const { world, sending } = await tunnelUnder({ host: '127.0.0.1' })
    const { reply } = await sending
    expect(reply.status).toBe(502)
    expect(reply.text()).toContain('allowPrivateAddresses')
    expect(reply.text()).toContain('egress.tcp')
    expect(world.upstream.connections).toBe(0)
    expect(world.records).toHaveLength(1)
    expect(world.records[0]).toMatchObject({ decision: 'DENY', reason: 'address' })
  })

  it('is joined at a private address where its entry allows that', async () => {
    const { world, sending } = await tunnelUnder({ host: '127.0.0.1', allowPrivateAddresses: true })
    await waitFor(() => expect(world.upstream.connections).toBe(1))
    for (const exchange of world.live) exchange.abort.abort()
    const { reply } = await sending
    expect(reply.state).toBe('upgraded')
    expect(world.records[0]).toMatchObject({ decision: 'ALLOW', transport: 'connect' })
  })

  it('does not apply to another port of the same host', async () => {
    const { world, sending } = await tunnelUnder({ host: '127.0.0.1', port: 1, allowPrivateAddresses: true })
    expect((await sending).reply.status).toBe(403)
    expect(world.upstream.connections).toBe(0)
  })
})
