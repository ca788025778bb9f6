import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { afterEach, describe, expect, it } from 'vitest'
import {
  type CapturedKind,
  createTransparent,
  type TransparentDeps,
} from '../../../sidecar/listener/captured/transparent.ts'
import type { FrontDeps } from '../../../sidecar/listener/deps.ts'
import { isUnownedHost } from '../../../sidecar/name-owner.ts'
import { createAdmit } from '../../../sidecar/pipeline/admit.ts'
import { waitFor } from '../../support/wait-for.ts'
import { startWorld, type World } from '../pipeline/test-world.ts'
import { startFront } from './harness.ts'

const open: AsyncDisposable[] = []
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each[Symbol.asyncDispose]()
})

type Found = Awaited<ReturnType<TransparentDeps['destinationOf']>>

/** A place of captured connections before the real pipeline; the kernel tells `destinationOf`. */
async function start(kind: CapturedKind, destinationOf: () => Promise<Found>) {
  const world: World = await startWorld()
  const { front } = await startFront({ handle: world.run })
  const dir = mkdtempSync(join(tmpdir(), 'captured-'))
  const path = join(dir, 'place.sock')
  const unused = () => {
    throw new Error('no certificate is needed')
  }
  const leaf = { contextFor: unused, preMint: unused, clear: unused }
  const listener: Omit<FrontDeps, 'api'> = {
    ...{ leaf, refusalLeaf: leaf, canRefuseInside: false, prefersHttp1: () => false, handle: world.run },
    ...{ admit: createAdmit(world.ports), agentOf: () => 'builder', onQuota: () => undefined },
    ...{ newRequestId: () => 'req_1', log: { debug() {}, warn() {}, error() {} } },
    limits: {
      ...{ maxConnections: 10, maxConnectionsPerAgent: 10, maxTunnelsPerAgent: 10, maxUnauthenticated: 10 },
      ...{ unauthenticatedTimeoutMs: 10_000, idleTimeoutMs: 10_000, headTimeoutMs: 10_000 },
    },
  }
  const serve = createTransparent({
    ...listener,
    api: unused,
    credentials: { kind: 'port', agent: 'builder' },
    destinationOf,
    isOpaque: () => false,
    isUnowned: (host, port) => isUnownedHost(world.state.snapshot, host, port),
    isProbe: () => false,
  })
  await front.openListener({ path }, (arrival) => serve(kind, arrival))
  open.push(world, {
    async [Symbol.asyncDispose]() {
      await front.close(0)
      rmSync(dir, { recursive: true })
    },
  })
  return { world, path }
}

describe('a captured connection to an address that no connector owns', () => {
  it('leaves one record with the address, however often and in whichever protocol it is tried', async () => {
    const found = { host: null, address: '203.0.113.9', port: 22 }
    const { world, path } = await start('other', async () => found)
    for (let n = 0; n < 3; n++) {
      const socket = connect(path)
      socket.write(n === 1 ? '*1\r\n$4\r\nPING\r\n' : 'SSH-2.0-x\r\n')
      await once(socket.resume(), 'close')
    }
    expect(world.records).toMatchObject([
      { host: '203.0.113.9:22', reason: 'unknown_host', note: 'unsupported_protocol', decision: 'DENY' },
    ])
    await waitFor(() => expect(world.counted).toHaveLength(2))
  })

  it('keeps its record where the kernel does not tell the address', async () => {
    const { world, path } = await start('tls', () => Promise.reject(new Error('the table cannot be read')))
    const socket = connectTls({ path, rejectUnauthorized: false })
    socket.on('error', () => undefined)
    await new Promise((resolve) => socket.once('close', resolve))
    await waitFor(() => expect(world.records).toMatchObject([{ note: 'unsupported_protocol' }]))
    expect(world.records[0]).toMatchObject({ decision: 'DENY', reason: 'ambiguous' })
  })
})
