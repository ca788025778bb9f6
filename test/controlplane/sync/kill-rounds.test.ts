import { expect, test } from 'vitest'
import { createKillRounds } from '../../../controlplane/sync/kill-rounds.ts'
import { createPeer } from '../../../controlplane/sync/peer.ts'
import { createRoster } from '../../../controlplane/sync/roster.ts'

function connectedGateway() {
  const seqs: number[] = []
  const roster = createRoster()
  const peer = createPeer({
    ...{ gatewayId: 'gw_1', name: 'default/one', processId: 'proc_1', nowMs: 0 },
    ...{ syncKey: new Uint8Array(32), onSlow() {} },
    sink: {
      write: (text: string) => seqs.push(JSON.parse(text).seq) > 0,
      end() {},
      destroy() {},
      writableLength: 0,
      destroyed: false,
    },
  })
  roster.add(peer)
  const rounds = createKillRounds({
    board: { effective: () => [], stateFor: () => undefined },
    roster,
    census: { elsewhere: () => [], awayCount: () => 0 },
    clock: { nowMs: () => 1_000, monotonicMs: () => performance.now() },
  })
  return { peer, rounds, seqs }
}

test('an acknowledgement of another replica, whose clock is ahead, acknowledges no kill switch of this one', async () => {
  const { peer, rounds, seqs } = connectedGateway()
  const round = rounds.round()
  rounds.ack(peer, 61_000)
  expect(await round.acknowledged(0)).toMatchObject({ acked: 0, total: 1 })
  expect(peer.killState).toBeNull()
  rounds.ack(peer, seqs[0] ?? 0)
  expect(await round.acknowledged(0)).toMatchObject({ acked: 1, total: 1 })
  expect(peer.killState).not.toBeNull()
})

test('an acknowledgement of a later message of this replica acknowledges the earlier ones', async () => {
  const { peer, rounds, seqs } = connectedGateway()
  const earlier = rounds.round()
  rounds.send(peer)
  rounds.ack(peer, seqs[1] ?? 0)
  expect(await earlier.acknowledged(0)).toMatchObject({ acked: 1, total: 1 })
})
