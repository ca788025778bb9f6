import { expect, test } from 'vitest'
import { createPeer } from '../../../controlplane/sync/peer.ts'

/** A reader that has taken nothing yet; `read` takes everything. */
function stream() {
  let bytes = 0
  const cut: string[] = []
  const sink = {
    write(text: string) {
      bytes += text.length
      return true
    },
    end() {},
    destroy: () => void cut.push('destroyed'),
    get writableLength() {
      return bytes
    },
    destroyed: false,
  }
  const peer = createPeer({
    ...{ gatewayId: 'gw_1', name: 'default/one', processId: 'proc_1', nowMs: 0, sink },
    ...{ syncKey: new Uint8Array(32), onSlow: () => void cut.push('slow') },
  })
  const entry = { scope: 'all', source: 'configmap', reason: 'r'.repeat(600 * 1024), since: '' }
  const sendKill = (seq: number) => peer.send({ type: 'kill', seq, effective: [entry] })
  return { cut, sendKill, read: () => (bytes = 0) }
}

test('one long message does not make a reader slow', () => {
  const { cut, sendKill, read } = stream()
  sendKill(1)
  read()
  sendKill(2)
  expect(cut).toEqual([])
})

test('a reader that leaves more than 512 KiB unread is cut off with the next message', () => {
  const { cut, sendKill } = stream()
  sendKill(1)
  sendKill(2)
  expect(cut).toEqual(['slow', 'destroyed'])
})
