import type { Reply, ReplyStream } from '../pipeline/reply.ts'

/** Creates the reply of an exchange whose client cannot be reached. The reply counts as sent and discards all data. */
export function createDiscardingReply(): Reply {
  const state = { isStarted: false }
  const sink: ReplyStream = {
    write: () => true,
    onDrain(callback) {
      process.nextTick(callback)
    },
    end() {},
    destroy() {},
  }
  return {
    bytesOut: 0,
    get isStarted() {
      return state.isStarted
    },
    send() {
      state.isStarted = true
    },
    stream() {
      state.isStarted = true
      return sink
    },
    interim() {},
    upgrade() {
      throw new Error('the connection was closed before the upgrade')
    },
  }
}
