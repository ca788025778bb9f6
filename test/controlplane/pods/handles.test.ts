import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SYNC_PATHS } from '../../../core/wire/gateway/sync.ts'
import { createFetchHandleOwners, createHandleRegistry } from '../../../sidecar/control/handle-registry.ts'
import { trafficRecord } from '../../sidecar/journal/traffic-record.ts'
import { eventually } from '../../support/eventually.ts'
import { type PodWorld, type Sidecar, startPodWorld } from './pod-world.ts'

/** The sidecars of two agents under one Gateway. */
let world: PodWorld
let [first, second]: (Sidecar | undefined)[] = []

beforeAll(async () => {
  world = await startPodWorld()
  await world.apply('Gateway', 'team', 'gateway', {})
  const start = (name: string) =>
    world.sidecar(world.pod({ name: `${name}-0`, serviceAccount: 'default' }), { agent: `team/${name}` })
  first = await start('first')
  second = await start('second')
  for (const each of [first, second]) await eventually('rules', () => each?.snapshot() ?? null)
})
afterAll(() => world?.[Symbol.asyncDispose]())

const HASH = { response: 'a'.repeat(64), file: 'b'.repeat(64), other: 'c'.repeat(64) }

async function upload(sidecar: Sidecar | undefined, id: string, given: { kind: string; hash: string }[]) {
  if (sidecar === undefined) throw new Error('no sidecar')
  const record = trafficRecord({
    ...{ id, process_id: sidecar.processId, agent: sidecar === first ? 'team/first' : 'team/second', given },
  })
  const reply = await sidecar.control.client.post(SYNC_PATHS.records, { records: [record] })
  expect(reply.status).toBe(200)
}

function handlesOf(sidecar: Sidecar | undefined) {
  if (sidecar === undefined) throw new Error('no sidecar')
  const { client } = sidecar.control
  return createHandleRegistry({
    fetchOwners: createFetchHandleOwners(() => client),
    monotonicMs: () => performance.now(),
  })
}

const asAgent = (sidecar: Sidecar | undefined, name: string) => {
  const agent = [...(sidecar?.snapshot()?.agentsByName.values() ?? [])].find((one) => one.name === name)
  if (agent === undefined) throw new Error(`no agent ${name}`)
  return agent
}

describe('what a provider gave to an agent', () => {
  test('is known to the gateways of other agents once its record is stored', async () => {
    await upload(first, 'rec_given', [
      { kind: 'response', hash: HASH.response },
      { kind: 'file', hash: HASH.file },
    ])
    const hashes = Object.values(HASH)
    expect(await handlesOf(first).ownersOf(hashes, asAgent(first, 'team/first'))).toEqual([
      ...['own', 'own', 'unknown'],
    ])
    expect(await handlesOf(second).ownersOf(hashes, asAgent(second, 'team/second'))).toEqual([
      ...['foreign', 'foreign', 'unknown'],
    ])
  })

  test('belongs to both where it was given to both', async () => {
    await upload(second, 'rec_again', [{ kind: 'file', hash: HASH.file }])
    for (const [sidecar, name] of [
      [first, 'team/first'],
      [second, 'team/second'],
    ] as const)
      expect(await handlesOf(sidecar).ownersOf([HASH.file], asAgent(sidecar, name))).toEqual(['own'])
  })

  test('cannot be requested by another agent', async () => {
    const body = { agent: 'team/first', hashes: [HASH.file] }
    expect((await second?.control.client.post(SYNC_PATHS.handles, body))?.status).toBe(403)
  })

  test('is kept by a hash, with the kind and the Gateway, and shown as the owner in the record', async () => {
    expect(
      await world.sql('select hash, kind, gateway from provider_handles order by hash, agent_id limit 1'),
    ).toEqual([{ hash: HASH.response, kind: 'response', gateway: 'team/gateway' }])
    const record = trafficRecord({
      ...{
        id: 'rec_named',
        process_id: first?.processId ?? '',
        agent: 'team/first',
        handle: 'unknown' as const,
      },
    })
    await first?.control.client.post(SYNC_PATHS.records, { records: [record] })
    expect(await world.sql("select handle from traffic where id = 'rec_named'")).toEqual([
      { handle: 'unknown' },
    ])
  })
})
