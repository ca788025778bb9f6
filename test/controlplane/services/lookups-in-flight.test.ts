import { expect, test } from 'vitest'
import { createIdentities } from '../../../controlplane/services/identities.ts'
import type { Db } from '../../../controlplane/store/query.ts'

/** A database whose answers wait for `answer`. */
function database() {
  const waiting: Array<() => void> = []
  const query: Db['query'] = async () => {
    await new Promise<void>((resolve) => waiting.push(resolve))
    return { rows: [], rowCount: 0 }
  }
  return { db: { query } as Db, waiting, answer: () => waiting.splice(0).map((resolve) => resolve()) }
}
const turn = () => new Promise((resolve) => setImmediate(resolve))

test.each(['gateway tokens', 'sessions'])(
  'a flood of unknown %s leaves connections of the pool to the kill switch and to beats',
  async (kind) => {
    const { db, waiting, answer } = database()
    const identities = createIdentities({
      ...{ db, podToken: null, operatorToken: null, clusterCallers: null, vouchFor: async () => 'unchanged' },
    })
    const shown = Array.from({ length: 500 }, (_, n) =>
      kind === 'sessions'
        ? identities.session([`wrong${n}`], undefined, false)
        : identities.gatewayToken(`wrong${n}`, false),
    )
    await turn()
    expect(waiting.length).toBeGreaterThan(0)
    expect(waiting.length).toBeLessThanOrEqual(3)
    const all = Promise.all(shown)
    let isDone = false
    void all.finally(() => {
      isDone = true
    })
    while (!isDone) {
      answer()
      await turn()
    }
    expect(new Set(await all)).toEqual(new Set([undefined]))
  },
)
